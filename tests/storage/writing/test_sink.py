"""Files and memory as sinks: what was written, complete or not at all."""

import os
import stat
import threading
import time
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.system.sink_checks import BIG, BrokenError

from converter.errors import OutputError, TraceError
from converter.storage.outputs import open_sink
from converter.storage.sink import BufferSink
from converter.storage.writing import block_writes

# Whatever a test does to a sink, no temporary file stays behind.
pytestmark = pytest.mark.usefixtures("no_temporary_files")


@pytest.fixture(params=["file", "memory", "child"])
def sink_and_contents(request, tmp_path):
    """A seekable sink and a function that closes it and gives its contents."""
    path = tmp_path / "out"
    if request.param == "memory":
        sink = BufferSink()
        yield sink, lambda: (sink.close(), sink.getvalue())[1]
    elif request.param == "file":
        sink = open_sink(path)
        yield sink, lambda: (sink.close(), path.read_bytes())[1]
    else:
        directory = open_sink(path, directory=True)
        sink = directory.create("folder/file")
        yield (
            sink,
            lambda: (sink.close(), directory.close(), (path / "folder/file").read_bytes())[2],
        )


class TestContents:
    def test_is_what_was_written(self, sink_and_contents):
        sink, contents = sink_and_contents
        sink.write(b"one")
        sink.write(BIG)
        sink.write(b"")
        sink.write(bytearray(b"two"))
        assert sink.tell() == len(BIG) + 6
        assert contents() == b"one" + BIG + b"two"

    def test_may_be_nothing(self, sink_and_contents):
        sink, contents = sink_and_contents
        assert sink.tell() == 0
        assert contents() == b""

    def test_takes_any_buffer(self, sink_and_contents):
        sink, contents = sink_and_contents
        arrays = [
            np.arange(6, dtype=np.uint64).reshape(2, 3),
            np.arange(20_000, dtype=">u4"),
            np.zeros(3, dtype=[("ts", "<i8"), ("cpu", "u1")]),
            np.arange(10)[::2],
            np.zeros((0, 4)),
            np.float64(1.5),
        ]
        for array in arrays:
            sink.write(memoryview(array))
        assert contents() == b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)

    def test_does_not_follow_a_buffer_that_changes(self, sink_and_contents):
        sink, contents = sink_and_contents
        for size in (10, 200_000):
            buffer = bytearray(b"a" * size)
            sink.write(buffer)
            buffer[:] = b"b" * size
            buffer.clear()
        assert contents() == b"a" * 200_010

    def test_handed_over_buffers_are_written(self, sink_and_contents):
        sink, contents = sink_and_contents
        arrays = [np.full(50_000, value, np.uint32) for value in range(10)]
        for array in arrays:
            sink.write(array, handover=True)
            sink.write(b"-", handover=True)
        assert contents() == b"".join(array.tobytes() + b"-" for array in arrays)

    @given(data=st.data())
    def test_patches_are_applied_in_order(self, data):
        # Not through the fixture: each example needs a new sink.
        sink, model = BufferSink(), bytearray()
        self.write_and_patch(data, sink, model)
        assert sink.getvalue() == model

    @given(data=st.data(), keep=st.booleans())
    def test_patches_of_files_are_applied_in_order(self, data, keep, tmp_path_factory):
        path = tmp_path_factory.mktemp("patches") / "out"
        model = bytearray()
        with open_sink(path) as sink:
            if keep:
                sink.keep_checksum()
            self.write_and_patch(data, sink, model)
            assert sink.checksum() == zlib.crc32(model)
            sink.write(b"more")
            assert sink.checksum() == zlib.crc32(model + b"more")
        assert path.read_bytes() == model + b"more"

    @pytest.mark.parametrize("keep", [False, True])
    def test_checksum_is_that_of_what_was_written(self, sink_and_contents, keep):
        sink, contents = sink_and_contents
        if keep:
            sink.keep_checksum()
        for data in (b"a", BIG, b"b", BIG[:70_000]):
            sink.write(data)
        checksum = sink.checksum()
        assert checksum == zlib.crc32(contents())

    @staticmethod
    def write_and_patch(data, sink, model):
        for size in data.draw(st.lists(st.sampled_from([1, 7, 1000, 70_000, 300_000]), max_size=5)):
            sink.write(b"x" * size)
            model += b"x" * size
            offset = data.draw(st.integers(0, len(model)))
            patch = data.draw(st.binary(max_size=min(8, len(model) - offset)))
            sink.write_at(offset, patch)
            model[offset : offset + len(patch)] = patch
            assert sink.tell() == len(model)

    @pytest.mark.parametrize(("offset", "size"), [(-1, 1), (0, 4), (3, 1), (4, 0)])
    def test_patches_cannot_extend(self, sink_and_contents, offset, size):
        sink, contents = sink_and_contents
        sink.write(b"abc")
        with pytest.raises(ValueError, match="write_at"):
            sink.write_at(offset, bytes(size))
        assert contents() == b"abc"

    def test_is_final_when_closed(self, sink_and_contents):
        sink, contents = sink_and_contents
        sink.write(b"abc")
        assert contents() == b"abc"
        sink.close()
        sink.abort()
        with pytest.raises(ValueError, match="closed"):
            sink.write(b"d")
        with pytest.raises(ValueError, match="closed"):
            sink.write_at(0, b"d")

    def test_only_directories_have_files(self, sink_and_contents):
        sink, contents = sink_and_contents
        with pytest.raises(TraceError, match="not a directory"):
            sink.create("x")
        contents()


class TestFile:
    def test_appears_only_when_complete(self, tmp_path):
        path = tmp_path / "out"
        with open_sink(str(path)) as sink:
            assert sink.name == str(path)
            sink.write(BIG)
            assert not path.exists()
        assert path.read_bytes() == BIG

    @pytest.mark.parametrize("size", [0, 10, 1 << 20])
    @pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt, SystemExit])
    def test_a_failure_leaves_nothing(self, tmp_path, error, size):
        with pytest.raises(error), open_sink(tmp_path / "out") as sink:
            sink.write(bytes(size))
            sink.write(bytes(size))
            raise error
        assert os.listdir(tmp_path) == []

    def test_a_failure_leaves_what_was_there(self, tmp_path):
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with pytest.raises(BrokenError), open_sink(path, force=True) as sink:
            sink.write(BIG)
            raise BrokenError
        assert path.read_bytes() == b"old"

    def test_a_forgotten_sink_leaves_nothing(self, tmp_path):
        sink = open_sink(tmp_path / "out")
        sink.write(BIG)
        del sink
        assert os.listdir(tmp_path) == []

    def test_an_existing_file_is_replaced_only_with_force(self, tmp_path):
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with pytest.raises(OutputError, match="exists") as caught:
            open_sink(path)
        assert caught.value.path == str(path)
        with open_sink(path, force=True) as sink:
            sink.write(b"new")
            assert path.read_bytes() == b"old"
        assert path.read_bytes() == b"new"

    @pytest.mark.parametrize("hard_links", [True, False])
    def test_a_file_that_appears_meanwhile_is_not_replaced(self, tmp_path, hard_links, monkeypatch):
        if not hard_links:

            def refuse(*_, **__):
                raise PermissionError(1, "Operation not permitted")

            monkeypatch.setattr(os, "link", refuse)
        path = tmp_path / "out"
        sink = open_sink(path)
        path.write_bytes(b"other")
        with pytest.raises(OutputError, match="exists"):
            sink.close()
        assert path.read_bytes() == b"other"

    @pytest.mark.parametrize("error", [PermissionError(1, "not permitted"), NotImplementedError()])
    def test_file_systems_without_hard_links(self, tmp_path, monkeypatch, error):
        def refuse(*_, **__):
            raise error

        monkeypatch.setattr(os, "link", refuse)
        with open_sink(tmp_path / "out") as sink:
            sink.write(b"data")
        assert (tmp_path / "out").read_bytes() == b"data"

    def test_systems_without_large_writes(self, tmp_path, monkeypatch):
        monkeypatch.setattr(block_writes, "MOST_AT_ONCE", 1000)
        with open_sink(tmp_path / "out") as sink:
            sink.write(BIG)
            sink.write_at(10, b"new")
        assert (tmp_path / "out").read_bytes() == BIG[:10] + b"new" + BIG[13:]

    @pytest.mark.parametrize("force", [False, True])
    def test_the_input_is_never_replaced(self, tmp_path, force):
        path = tmp_path / "in"
        path.write_bytes(b"input")
        (tmp_path / "symbolic").symlink_to("in")
        os.link(path, tmp_path / "hard")
        for name in ("in", "symbolic", "hard"):
            with pytest.raises(OutputError, match="the output is the input"):
                open_sink(tmp_path / name, force=force, avoid=path)
        assert path.read_bytes() == b"input"

    @pytest.mark.parametrize("avoid", ["-", "missing", None])
    def test_an_input_without_a_file_is_no_obstacle(self, tmp_path, avoid):
        (tmp_path / "out").write_bytes(b"old")
        with open_sink(tmp_path / "out", force=True, avoid=avoid):
            pass
        assert (tmp_path / "out").read_bytes() == b""

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "folder").mkdir()
        (tmp_path / "link").symlink_to("folder/file")
        for force in (False, True):
            with open_sink(tmp_path / "link", force=force) as sink:
                sink.write(b"data")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder/file").read_bytes() == b"data"

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
    def test_permissions_are_those_of_any_new_file(self, tmp_path, mask):
        before = os.umask(mask)
        try:
            with open_sink(tmp_path / "file"):
                pass
            with open_sink(tmp_path / "folder", directory=True) as sink:
                sink.create("file")
        finally:
            os.umask(before)
        for name, mode in [("file", 0o666), ("folder", 0o777), ("folder/file", 0o666)]:
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode & ~mask

    @pytest.mark.parametrize(
        ("path", "message"),
        [("missing/out", "there is no folder"), ("a\0b", "null"), ("file/out", "Not a directory")],
    )
    def test_what_cannot_be_created_is_an_error(self, tmp_path, path, message):
        (tmp_path / "file").write_bytes(b"")
        for directory in (False, True):
            with pytest.raises(OutputError, match=message):
                open_sink(tmp_path / path, directory=directory)

    def test_a_long_name_is_no_problem(self, tmp_path):
        with open_sink(tmp_path / ("x" * 255)) as sink:
            sink.write(b"data")

    def test_a_directory_is_never_replaced_by_a_file(self, tmp_path):
        (tmp_path / "folder").mkdir()
        with pytest.raises(OutputError, match="is a directory"):
            open_sink(tmp_path / "folder", force=True)

    def test_devices_are_written_to(self):
        with open_sink("/dev/null") as sink:
            sink.write(BIG * 4)
            assert not sink.seekable
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.parametrize("count", [1, 2, 50])
    def test_a_full_disk_is_an_error(self, count):
        sink = open_sink("/dev/full")
        with pytest.raises(OutputError, match="/dev/full: No space left"):
            for _ in range(count):
                sink.write(BIG)
            sink.close()
        sink.abort()

    def test_an_error_of_the_thread_stops_the_producer(self):
        with pytest.raises(OutputError, match="No space left"), open_sink("/dev/full") as sink:
            for _ in range(1000):
                sink.write(BIG)
                time.sleep(0.001)
            pytest.fail("the error came only at the end")

    def test_the_memory_that_waits_is_bounded(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        written = []

        def produce(sink):
            for _ in range(100):
                sink.write(BIG)
                written.append(1)

        sink = open_sink(path)
        producer = threading.Thread(target=produce, args=(sink,))
        producer.start()
        time.sleep(0.2)
        assert len(written) < 8
        os.set_blocking(reader, True)
        received = 0
        while received < 100 * len(BIG):
            received += len(os.read(reader, 1 << 20))
        producer.join()
        sink.close()
        os.close(reader)
