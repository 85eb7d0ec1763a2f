"""Directories as inputs: files by their names, and nothing outside."""

import gzip
import os

import pytest
from support.inputs.kinds_of_input import DATA, whole

from converter.errors import TraceError
from converter.storage.opening import open_source


@pytest.fixture
def directory(tmp_path):
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "metadata").write_bytes(b"meta")
    (root / "sub" / "stream").write_bytes(DATA)
    (root / "sub" / "deep" / "x.gz").write_bytes(gzip.compress(DATA))
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "rootless").write_bytes(b"a sibling whose name starts with the directory's")
    (root / "link").symlink_to("sub/stream")
    (root / "sub" / "up").symlink_to("../metadata")
    (root / "out").symlink_to("../secret")
    (root / "sibling").symlink_to("../rootless")
    (root / "out_absolute").symlink_to(tmp_path / "secret")
    (root / "out_folder").symlink_to("..")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


class TestDirectory:
    def test_opens_what_is_inside(self, directory):
        with open_source(directory) as source:
            assert source.is_directory
            assert source.name == str(directory)
            names = ["metadata", "sub/stream", "sub/deep/x.gz", "link", "./metadata"]
            for name in names:
                with source.open(name) as inside:
                    assert inside.name == os.path.join(directory, name)
                    assert whole(inside) == (b"meta" if "metadata" in name else DATA)

    def test_folders_are_sources_with_the_same_boundary(self, directory):
        with open_source(directory) as source, source.open("sub") as folder:
            assert folder.is_directory
            assert folder.listdir() == ["deep", "stream", "up"]
            assert whole(folder.open("up")) == b"meta"
            with pytest.raises(TraceError):
                folder.open("../metadata")

    def test_lists_names_in_order(self, directory):
        with open_source(directory) as source:
            assert source.listdir() == sorted(os.listdir(directory))
            assert source.listdir("sub/deep") == ["x.gz"]
            files = list(source.walk())
            assert "sub/deep/x.gz" in files
            assert not any(name.startswith("out_folder/") for name in files)

    @pytest.mark.parametrize(
        "name",
        [
            "..",
            "../secret",
            "sub/../../secret",
            "sub/..",
            "/etc/passwd",
            "",
            ".",
            "./",
            "a\0b",
            "out",
            "out_absolute",
            "out_folder",
            "out_folder/secret",
            "out_folder/root/metadata/../../secret",
            "sibling",
        ],
    )
    def test_refuses_names_that_lead_outside(self, directory, name):
        with open_source(directory) as source:
            with pytest.raises(TraceError, match="expected a name inside the directory"):
                source.open(name)
            if name:
                with pytest.raises(TraceError, match="expected a name inside the directory"):
                    source.listdir(name)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("missing", "No such file"),
            ("metadata/x", "Not a directory"),
            ("pipe", "found a special file"),
            ("loop", "special file|symbolic links"),
        ],
    )
    def test_what_cannot_be_opened_is_an_error_with_its_name(self, directory, name, message):
        with open_source(directory) as source, pytest.raises(TraceError, match=message) as caught:
            source.open(name)
        assert caught.value.path == os.path.join(directory, name)

    def test_has_no_bytes(self, directory):
        with open_source(directory) as source:
            for request in [lambda: source.read(0, 1), lambda: source.read_into(0, bytearray(1))]:
                with pytest.raises(TraceError, match="is a directory"):
                    request()

    def test_can_itself_be_reached_through_a_link(self, directory, tmp_path):
        (tmp_path / "alias").symlink_to(directory)
        with open_source(tmp_path / "alias") as source:
            assert whole(source.open("metadata")) == b"meta"
