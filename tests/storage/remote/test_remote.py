"""Inputs and outputs elsewhere: in fsspec's memory, and on a web server, which may mean no good."""

import os
import struct
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.system.web_server import serving

import converter
from converter.cli import main
from converter.errors import OutputError, TraceError, UnknownFormatError
from converter.jobs.reading import detect
from converter.limits import limited
from converter.storage import transfers
from converter.storage.lookup import matches
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

RECORDINGS = Path(__file__).parents[3] / "roundtrip_fixtures"
DAT = RECORDINGS / "trace_cmd" / "small.dat"
MINIMAL = RECORDINGS / "trace_cmd" / "scratch_v6_min.dat"
CTF = RECORDINGS / "ctf" / "ctf_small"
UFTRACE = next((RECORDINGS / "uftrace").glob("*/info")).parent
BIG = os.urandom(1 << 10) * (1 << 10)


@pytest.fixture
def memory():
    """A file system that is empty in front of each test."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]
    yield fs
    fs.store.clear()


@pytest.fixture
def site():
    with serving() as one:
        yield one


def many_pages(copies):
    """The pages of a small trace.dat over and over, each later than the one before."""
    data = MINIMAL.read_bytes()
    table = data.rindex(b"flyrecord\0") + 10
    offset, size = struct.unpack_from("<QQ", data, table)
    page = data[offset : offset + size]
    (first,) = struct.unpack_from("<Q", page)
    later = (struct.pack("<Q", first + copy * 10**9) + page[8:] for copy in range(copies))
    head = data[:table] + struct.pack("<QQ", offset, size * copies) + data[table + 16 : offset]
    return head + b"".join(later)


class TestPlaces:
    def test_a_file_in_and_out(self, memory, tmp_path):
        memory.put_file(str(DAT), "/in/a.dat")
        losses = converter.convert("memory://in/a.dat", "memory://out/deep/a.pftrace")
        here = tmp_path / "a.pftrace"
        assert losses.to_json() == converter.convert(DAT, here).to_json()
        assert memory.cat("/out/deep/a.pftrace") == here.read_bytes()
        assert memory.find("/out") == ["/out/deep/a.pftrace"]

    @pytest.mark.parametrize("recording", [CTF, UFTRACE], ids=["ctf", "uftrace"])
    def test_a_folder_in_and_out(self, memory, tmp_path, recording):
        memory.put(str(recording), "/in/trace", recursive=True)
        there = converter.read("memory://in/trace")
        assert converter.difference(there, converter.read(recording)) is None
        format = there.format
        converter.convert(recording, f"memory://out/{format}", target_format=format)
        converter.convert(recording, tmp_path / format, target_format=format)
        made = {
            name.removeprefix(f"/out/{format}/"): memory.cat(name) for name in memory.find("/out")
        }
        here = {
            str(path.relative_to(tmp_path / format)): path.read_bytes()
            for path in (tmp_path / format).rglob("*")
            if path.is_file()
        }
        assert made == here

    @pytest.mark.parametrize("name", ["a.json.gz", "a.ctf.tar.zst"])
    def test_wrapped(self, memory, name):
        memory.put_file(str(DAT), "/a.dat")
        converter.convert("memory://a.dat", f"memory://{name}")
        assert converter.read(f"memory://{name}").batches()
        assert len(memory.find("/")) == 2

    @pytest.mark.parametrize("pattern", ["memory://in/**", "memory://in/*", "memory://in/sub/*"])
    def test_names_that_match_stay_in_the_folder(self, memory, pattern):
        for name in ("a.fxt", "x/../../y/b.fxt", "../c.fxt", "%2e%2e/d.fxt", "sub/..", "sub/e.fxt"):
            memory.store[f"/in/{name}"] = fsspec.implementations.memory.MemoryFile(
                memory, f"/in/{name}", b"x"
            )
        found = matches(pattern)
        assert not [one for one in found if ".." in unquote(one)]
        assert f"memory:///in/{'sub/e' if 'sub' in pattern else 'a'}.fxt" in found

    def test_folders_lie_only_so_deep_in_each_other(self, memory):
        memory.pipe("/deep/" + "x/" * 9 + "metadata", b"/* CTF 1.8 */")
        with (
            pytest.raises(TraceError, match=r"limits=\{'folder-depth': 10\}"),
            limited({"folder-depth": 5}),
        ):
            detect("memory://deep")
        assert detect("memory://deep").name == "ctf"

    def test_file_urls_are_paths(self, tmp_path):
        target = tmp_path / "a b.json"
        converter.convert(f"file://{DAT}", f"file://{tmp_path}/a%20b.json")
        assert target.exists()

    def test_companions(self, memory, tmp_path):
        converter.convert(DAT, "memory://out/a.aix")
        converter.convert(DAT, tmp_path / "a.aix")
        assert [name[5:] for name in memory.find("/out")] == sorted(
            path.name for path in tmp_path.iterdir()
        )
        there, here = converter.read("memory://out/a.aix"), converter.read(tmp_path / "a.aix")
        assert converter.difference(there, here) is None

    def test_what_is_there_stays(self, memory):
        memory.pipe("/a.json", b"mine")
        memory.pipe("/folder.ctf/x", b"mine")
        with pytest.raises(OutputError, match="exists already"):
            converter.convert(DAT, "memory://a.json")
        with pytest.raises(OutputError, match="exists already"):
            converter.convert(DAT, "memory://folder.ctf")
        with pytest.raises(OutputError, match="is a directory"):
            converter.convert(DAT, "memory://folder.ctf", target_format="json", force=True)
        assert memory.cat("/a.json") == memory.cat("/folder.ctf/x") == b"mine"
        converter.convert(DAT, "memory://a.json", force=True)
        converter.convert(DAT, "memory://folder.ctf", force=True)
        assert memory.cat("/a.json") != b"mine"
        assert not memory.exists("/folder.ctf/x")

    def test_an_input_is_not_replaced(self, memory):
        memory.put(str(CTF), "/in/trace", recursive=True)
        for target in ("memory://in/trace", "memory://in"):
            with pytest.raises(OutputError, match="the output is the input"):
                converter.convert("memory://in/trace", target, target_format="ctf", force=True)

    def test_what_fails_leaves_nothing(self, memory, monkeypatch):
        with pytest.raises(ZeroDivisionError), open_sink("memory://a") as sink:
            sink.write(BIG)
            raise ZeroDivisionError
        put_file, done = type(memory).put_file, []

        def failing(self, source, target, **more):
            if done:
                raise OSError(28, "No space left on device")
            done.append(target)
            put_file(self, source, target, **more)

        monkeypatch.setattr(type(memory), "put_file", failing)
        with pytest.raises(OutputError, match="No space left"):
            converter.convert(DAT, "memory://b.ctf")
        assert len(done) == 1
        assert memory.find("/") == []

    def test_a_folder_is_no_trace_before_all_of_it_is_there(self, memory, monkeypatch):
        put_file, seen = type(memory).put_file, []

        def watched(self, source, target, **more):
            try:
                seen.append(converter.detect("memory://out").name)
            except (UnknownFormatError, TraceError):
                seen.append(None)
            put_file(self, source, target, **more)

        monkeypatch.setattr(type(memory), "put_file", watched)
        for recording, format in ((CTF, "ctf"), (UFTRACE, "uftrace")):
            seen.clear()
            converter.convert(recording, "memory://out", target_format=format, force=True)
            assert len(seen) > 2
            assert set(seen) == {None}

    def test_protocols_that_nobody_knows(self):
        with pytest.raises(TraceError, match="no file system for nowhere://"):
            converter.read("nowhere://a")

    def test_what_is_not_installed_is_named(self):
        try:
            import gcsfs  # noqa: F401
        except ModuleNotFoundError:
            with pytest.raises(TraceError, match="pip install gcsfs"):
                converter.read("gs://bucket/a.dat")


class TestRanges:
    def test_a_window_reads_little(self, memory, monkeypatch):
        data = many_pages(2048)
        memory.pipe("/a.dat", data)
        cat_file, fetched = type(memory).cat_file, []

        def counted(self, path, start=None, end=None, **more):
            fetched.append(end - start)
            return cat_file(self, path, start, end, **more)

        monkeypatch.setattr(type(memory), "cat_file", counted)
        part = converter.Selection(since="+1000s", until="+1020s")
        with converter.open_trace("memory://a.dat", selection=part) as trace:
            assert 80 <= sum(len(batch) for batch in trace.batches()) < 400
        assert sum(fetched) < 0.04 * len(data)
        fetched.clear()
        with converter.open_trace("memory://a.dat") as trace:
            assert sum(len(batch) for batch in trace.batches()) == 8192
        # Nothing twice, and ever more at a time.
        assert len(data) <= sum(fetched) < 1.01 * len(data)
        assert len(fetched) < 16

    def test_any_reading_gives_what_is_there(self, site):
        site.files["/a"] = BIG
        with open_source(f"{site.address}/a") as source:
            assert source.size == len(BIG)
            for offset, size in ((0, 5), (70_000, 9), (len(BIG) - 3, 9), (69_000, 200_000)):
                assert source.read(offset, size) == BIG[offset : offset + size]
            assert source.read(0, len(BIG)) == BIG
            sent = site.sent
            assert source.read(0, len(BIG)) == BIG
            assert site.sent == sent
            assert sent < 1.1 * len(BIG)

    def test_what_is_read_ahead_ends_where_others_have_read(self, site):
        site.files["/a"] = BIG
        with open_source(f"{site.address}/a") as source:
            # As two threads do, of which the second is sometimes first.
            for offset in (0, 20_480, 40_960, 140_000, 61_440, 102_400, 160_480, 200_960, 400_000):
                assert source.read(offset, 20_480) == BIG[offset : offset + 20_480]
            assert source.read(0, len(BIG)) == BIG
            # And what told its size and kind.
            assert len(BIG) <= site.sent <= len(BIG) + 16_384

    def test_a_cache_that_is_full_begins_anew(self, memory, monkeypatch):
        from converter.storage.remote import sources

        memory.pipe("/a", BIG)
        small = partial(sources.BlockCache, most_kept=1 << 18)
        monkeypatch.setattr(sources, "MOST_FETCHED", 1 << 16)
        monkeypatch.setattr(sources, "BlockCache", small)
        with open_source("memory://a") as source:
            for offset in (0, 100_000, 50_000, 0, 900_000, 3):
                assert source.read(offset, 60_000) == BIG[offset : offset + 60_000]

    def test_without_ranges_all_is_fetched_once(self, site):
        site.files["/a"] = BIG
        site.ranges = False
        told = []
        with transfers.watched(lambda *one: told.append(one)):
            with open_source(f"{site.address}/a") as source:
                assert source.read(70_000, 9) == BIG[70_000:70_009]
                assert source.read(0, 1 << 30) == BIG
        assert site.requests == 1
        assert told[-1] == (f"{site.address}/a", len(BIG), True)

    def test_the_command_says_so(self, site, tmp_path, capfd):
        site.files["/a.dat"] = DAT.read_bytes()
        site.ranges = False
        assert main([f"{site.address}/a.dat?key=secret", "-o", str(tmp_path / "a.json")]) == 0
        said = capfd.readouterr().err
        assert f"{site.address}/a.dat: given only as a whole: " in said
        assert "secret" not in said
        assert main([f"{site.address}/none.dat", "-o", "-", "-t", "json"]) == 1
        assert "none.dat: no such file (HTTP 404)" in capfd.readouterr().err

    def test_nothing(self, site):
        site.files["/a"] = b""
        with open_source(f"{site.address}/a") as source:
            assert source.size == 0


class TestHostileServers:
    @pytest.fixture
    def url(self, site):
        site.files["/a"] = BIG
        return f"{site.address}/a"

    @pytest.mark.parametrize(
        ("status", "says"),
        [
            (404, "no such file"),
            (403, "access is refused .HTTP 403.: a signed address"),
            (401, "access is refused"),
            (500, "HTTP 500: try again later"),
        ],
    )
    def test_refusals(self, site, url, status, says, monkeypatch):
        monkeypatch.setattr("time.sleep", lambda _: None)
        site.status["/a"] = status
        with pytest.raises(TraceError, match=says):
            open_source(url)

    def test_a_passing_failure(self, site, url, monkeypatch):
        monkeypatch.setattr("time.sleep", lambda _: None)
        site.status["/a"] = 503
        site.before = lambda number: site.status.pop("/a", None) if number == 2 else None
        with open_source(url) as source:
            assert source.read(0, 9) == BIG[:9]

    def test_short_answers(self, site, url, monkeypatch):
        monkeypatch.setattr("time.sleep", lambda _: None)
        site.missing = 7
        with pytest.raises(TraceError):
            open_source(url)
        assert site.requests == 3

    def test_a_changed_object(self, site, url):
        with open_source(url) as source:
            source.read(0, 9)
            site.etag = '"two"'
            with pytest.raises(TraceError, match="has changed while it was read"):
                source.read(500_000, 9)

    def test_a_changed_object_of_a_file_system(self, memory):
        memory.pipe("/a", BIG)
        with open_source("memory://a") as source:
            source.read(0, 9)
            memory.pipe("/a", BIG[::-1])
            with pytest.raises(TraceError, match="has changed while it was read"):
                source.read(500_000, 9)

    def test_more_than_was_asked_for_is_not_taken(self, site, url):
        site.more = 1 << 22
        with open_source(url) as source:
            assert source.read(0, len(BIG)) == BIG

    def test_a_size_that_nothing_has(self, site, url):
        site.claimed = 10**17
        with pytest.raises(TraceError, match="at most"):
            open_source(url)
        site.claimed = 10**12
        with open_source(url) as source, pytest.raises(TraceError, match="does not give"):
            source.read(0, 1 << 40)

    @pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a"])
    def test_no_way_to_files_of_this_machine(self, site, url, target):
        site.moved["/a"] = target
        with pytest.raises(TraceError):
            open_source(url)

    def test_a_web_server_is_not_written_to(self, url):
        with pytest.raises(OutputError, match="only read"):
            converter.convert(DAT, url, target_format="json")

    def test_names_do_not_lead_out_of_a_folder(self, site):
        site.files = {"/t/": b"", "/secret": b"secret", "/t/metadata": b"x"}
        links = ("metadata", "../secret", "..", "/secret", "file:///etc/passwd", "%2e%2e/secret")
        more = ("http://127.0.0.1:9/x", "a/b", "%2e%2e%2fsecret", "metadata?x", "//elsewhere/x")
        site.files["/t/"] = "".join(f'<a href="{one}">x</a>' for one in links + more).encode()
        folder = open_source(f"{site.address}/t/")
        assert folder.is_directory
        assert set(folder.listdir()) <= {"metadata", "a"}
        for name in (*links[1:], "%2e%2e%2fsecret", "%2E%2E/secret"):
            with pytest.raises(TraceError):
                folder.open(name)

    def test_messages_hide_secrets(self, site, url):
        site.status["/a"] = 403
        with pytest.raises(TraceError) as raised:
            open_source(f"{url.replace('//', '//me:secret@')}?X-Signature=secret")
        assert "secret" not in str(raised.value)
