"""Directories, and files beside files: complete or absent as a whole."""

import ctypes
import os
from types import SimpleNamespace

import pytest
from support.system.sink_checks import BIG, BrokenError, open_descriptors

from converter.errors import OutputError
from converter.storage.outputs import open_sink
from converter.storage.sink import BufferSink

# Whatever a test does to a sink, no temporary file stays behind.
pytestmark = pytest.mark.usefixtures("no_temporary_files")


class TestDirectory:
    def test_appears_only_when_complete(self, tmp_path):
        path = tmp_path / "out"
        with open_sink(path, directory=True) as sink:
            assert sink.is_directory
            with sink.create("metadata") as child:
                child.write(b"meta")
            stream = sink.create("a/b/stream")
            stream.write(BIG)
            stream.write(BIG)
            stream.write(b"end")
            stream.write_at(0, b"head")
            assert not path.exists()
            assert sink.tell() == 4 + 2 * len(BIG) + 3
        assert (path / "metadata").read_bytes() == b"meta"
        assert (path / "a/b/stream").read_bytes() == b"head" + BIG[4:] + BIG + b"end"
        assert sorted(os.listdir(path)) == ["a", "metadata"]

    def test_may_be_empty(self, tmp_path):
        with open_sink(tmp_path / "out", directory=True):
            pass
        assert os.listdir(tmp_path / "out") == []

    @pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt])
    def test_a_failure_leaves_nothing(self, tmp_path, error):
        with pytest.raises(error), open_sink(tmp_path / "out", directory=True) as sink:
            for i in range(5):
                sink.create(f"folder/{i}").write(BIG)
            raise error
        assert os.listdir(tmp_path) == []

    def test_a_file_that_failed_fails_the_directory(self, tmp_path):
        sink = open_sink(tmp_path / "out", directory=True)
        with pytest.raises(BrokenError), sink.create("file") as child:
            child.write(b"half")
            raise BrokenError
        with pytest.raises(OutputError, match="file: was not completed"):
            sink.close()
        assert os.listdir(tmp_path) == []

    def test_many_files_need_few_descriptors(self, tmp_path):
        with open_sink(tmp_path / "out", directory=True) as sink:
            children = [sink.create(f"{i}.dat") for i in range(2000)]
            for _ in range(2):
                for i, child in enumerate(children):
                    child.write(b"%08d" % i * (10_000 if i < 100 else 10))
            assert 0 < open_descriptors(tmp_path) < 70
        for i in (0, 50, 99, 100, 1999):
            data = (tmp_path / "out" / f"{i}.dat").read_bytes()
            assert data == b"%08d" % i * 2 * (10_000 if i < 100 else 10)
        assert open_descriptors(tmp_path) == 0

    def test_is_replaced_only_with_force_and_as_a_whole(self, tmp_path):
        path = tmp_path / "out"
        (path / "folder").mkdir(parents=True)
        (path / "old").write_bytes(b"old")
        with pytest.raises(OutputError, match="exists"):
            open_sink(path, directory=True)
        with open_sink(path, directory=True, force=True) as sink:
            sink.create("new").write(b"new")
            assert (path / "old").exists()
        assert os.listdir(path) == ["new"]

    def test_a_failure_leaves_what_was_there(self, tmp_path, monkeypatch):
        path = tmp_path / "out"
        path.mkdir()
        (path / "old").write_bytes(b"old")
        sink = open_sink(path, directory=True, force=True)
        rename = os.rename

        def fail_to_place(source, target):
            if target == str(path) and os.path.exists(os.path.join(source, "new")):
                raise OSError(5, "Input/output error")
            rename(source, target)

        # A system that cannot exchange two names at once.
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace())
        monkeypatch.setattr(os, "rename", fail_to_place)
        sink.create("new")
        with pytest.raises(OutputError, match="Input/output error"):
            sink.close()
        assert os.listdir(path) == ["old"]

    @pytest.mark.parametrize("exchanges", [True, False])
    def test_what_is_replaced_goes(self, tmp_path, monkeypatch, exchanges):
        if not exchanges:
            monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace())
        (tmp_path / "out" / "folder").mkdir(parents=True)
        with open_sink(tmp_path / "out", directory=True, force=True) as sink:
            sink.create("new").write(b"new")
        assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == [
            "out",
            "out/new",
        ]

    def test_one_that_appears_meanwhile_is_not_replaced(self, tmp_path):
        sink = open_sink(tmp_path / "out", directory=True)
        (tmp_path / "out").mkdir()
        with pytest.raises(OutputError, match="exists"):
            sink.close()

    @pytest.mark.parametrize("place", ["file", "/dev/null"])
    def test_a_file_is_never_replaced_by_a_directory(self, tmp_path, place):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(OutputError, match="not a directory"):
            open_sink(tmp_path / place, directory=True, force=True)

    @pytest.mark.parametrize("place", ["here", "here/..", "/", ""])
    def test_the_current_directory_is_never_replaced(self, tmp_path, monkeypatch, place):
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        path = place if place in ("/", "") else tmp_path / place
        with pytest.raises(OutputError, match="current directory"):
            open_sink(path, directory=True, force=True)

    def test_the_input_is_never_inside_what_is_replaced(self, tmp_path):
        (tmp_path / "out/folder").mkdir(parents=True)
        (tmp_path / "out/folder/in").write_bytes(b"")
        for inside, message in [("out", "is the input"), ("out/folder/in", "input is in")]:
            with pytest.raises(OutputError, match=message):
                open_sink(tmp_path / "out", directory=True, force=True, avoid=tmp_path / inside)

    def test_the_input_is_inside_by_any_name_of_the_directory(self, tmp_path, monkeypatch):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/in").write_bytes(b"")
        # As where names that differ in case are one: following links does not tell.
        (tmp_path / "OUT").symlink_to("out")
        monkeypatch.setattr(os.path, "realpath", os.path.abspath)
        with pytest.raises(OutputError, match="input is in"):
            open_sink(tmp_path / "OUT", directory=True, force=True, avoid=tmp_path / "out/in")

    @pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/../../x", "a\0b"])
    def test_refuses_names_that_lead_outside(self, tmp_path, name):
        with open_sink(tmp_path / "out", directory=True) as sink:
            with pytest.raises(OutputError, match="expected a name inside the directory"):
                sink.create(name)
        assert os.listdir(tmp_path) == ["out"]

    @pytest.mark.parametrize("name", ["x", "./x", "x/y"])
    def test_refuses_the_same_file_twice(self, tmp_path, name):
        with open_sink(tmp_path / "out", directory=True) as sink:
            sink.create("x").write(b"first")
            with pytest.raises(OutputError):
                sink.create(name)
        assert (tmp_path / "out/x").read_bytes() == b"first"

    def test_has_no_bytes_of_its_own(self, tmp_path):
        with open_sink(tmp_path / "out", directory=True) as sink:
            with pytest.raises(OutputError):
                sink.write(b"")
            with pytest.raises(OutputError):
                sink.write_at(0, b"")


class TestCompanions:
    def test_appears_with_the_file(self, tmp_path):
        with open_sink(tmp_path / "out") as sink:
            companion = sink.companion(".more")
            assert companion is not None
            companion.write(b"second")
            sink.write(b"first")
            assert os.listdir(tmp_path) != ["out"]
        assert sorted(os.listdir(tmp_path)) == ["out", "out.more"]
        assert (tmp_path / "out.more").read_bytes() == b"second"

    def test_disappears_with_the_file(self, tmp_path):
        with pytest.raises(KeyError), open_sink(tmp_path / "out") as sink:
            companion = sink.companion(".more")
            assert companion is not None
            companion.write(b"second")
            raise KeyError
        assert os.listdir(tmp_path) == []

    def test_is_replaced_only_by_force(self, tmp_path):
        (tmp_path / "out.more").write_bytes(b"old")
        with pytest.raises(OutputError, match="exists"), open_sink(tmp_path / "out") as sink:
            sink.companion(".more")
        assert sorted(os.listdir(tmp_path)) == ["out.more"]
        with open_sink(tmp_path / "out", force=True) as sink:
            companion = sink.companion(".more")
            assert companion is not None
            companion.write(b"new")
        assert (tmp_path / "out.more").read_bytes() == b"new"

    def test_memory_has_them_by_suffix_and_streams_have_none(self):
        sink = BufferSink()
        companion = sink.companion(".more")
        companion.write(b"second")
        assert sink.companions[".more"].getvalue() == b"second"
        with open_sink(os.devnull) as stream:
            assert stream.companion(".more") is None

    @pytest.mark.parametrize("before", [None, b"before"])
    def test_all_appear_or_none(self, tmp_path, monkeypatch, before):
        path = tmp_path / "a.out"
        if before is not None:
            path.write_bytes(before)
            (tmp_path / "a.out.more").write_bytes(before)
        sink = open_sink(path, force=True)
        sink.companion(".more").write(b"new")
        # The second of the two to get its name.
        monkeypatch.setattr(sink, "final_path", str(tmp_path / "gone" / "a.out"))
        with pytest.raises(OutputError, match="No such file"):
            sink.close()
        found = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
        assert found == ({} if before is None else {"a.out": before, "a.out.more": before})
