"""The worst inputs that are known, of any size: those of a format's name begin with it."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import zstandard
from fuzz import Files
from support.ctf.lttng_legacy_files import START
from support.ctf.lttng_legacy_files import Trace as Recording
from support.inputs import costly_profiles
from support.inputs.protobuf_fields import numeric, sized
from support.trace_cmd.files import File, Kernel, format_text

from converter.jobs.conversion import write
from converter.jobs.reading import open_trace
from converter.registry import FORMATS

_MAGIC = b"\x10\x00\x04FxT\x16\x00"


def _fxt_event(name: bytes, arguments: list[bytes], ts: int) -> bytes:
    def padded(text: bytes) -> bytes:
        return text + bytes(-len(text) % 8)

    inside = b"".join(
        struct.pack("<Q", 2 | 2 + (len(one) + 7) // 8 - 1 << 4 | (0x8000 | len(one)) << 16)
        + padded(one)
        for one in arguments
    )
    words = 2 + (len(name) + 7) // 8 + len(inside) // 8
    head = 4 | words << 4 | len(arguments) << 20 | 1 << 24 | (0x8000 | len(name)) << 48
    return struct.pack("<QQ", head, ts) + padded(name) + inside


def fxt_events(size: int) -> Files:
    """Events of 16 bytes."""
    event = struct.pack("<QQ", 4 | 2 << 4 | 1 << 24 | 1 << 48, 7)
    return {"": _MAGIC + event * (size // 16)}


def fxt_names(size: int) -> Files:
    """A name for each event."""
    return {"": _MAGIC + b"".join(_fxt_event(b"%07d" % i, [], i) for i in range(size // 24))}


def fxt_classes(size: int) -> Files:
    """An argument of another name for each event, so that each has a class of its own."""
    events = (_fxt_event(b"n", [b"%07d" % i], i) for i in range(size // 40))
    return {"": _MAGIC + b"".join(events)}


def fxt_holes(size: int) -> Files:
    """Damage behind each few events."""
    piece = _fxt_event(b"n", [], 1) * 5 + bytes(8)
    return {"": _MAGIC + piece * (size // len(piece))}


def perfetto_empty(size: int) -> Files:
    """Packets with nothing in them."""
    return {"": b"\x0a\x00" * (size // 2)}


def perfetto_events(size: int) -> Files:
    """Small track events."""
    packet = sized(1, numeric(8, 5) + numeric(10, 1) + sized(11, numeric(9, 3)))
    return {"": packet * (size // len(packet))}


def perfetto_names(size: int) -> Files:
    """An interned name for each event."""
    packets = []
    for i in range(1, size // 40):
        interned = sized(12, sized(2, numeric(1, i) + sized(2, b"%d" % i)))
        event = sized(11, numeric(9, 1) + numeric(10, i))
        packets.append(sized(1, numeric(8, i) + numeric(10, 1) + interned + event))
    return {"": b"".join(packets)}


def perfetto_sequences(size: int) -> Files:
    """A sequence for each packet."""
    return {
        "": b"".join(
            sized(1, numeric(8, i) + numeric(10, i) + sized(11, numeric(9, 3)))
            for i in range(1, size // 14)
        )
    }


def perfetto_nested(size: int) -> Files:
    """Annotations within annotations."""
    inner = b""
    while len(inner) < 3000:
        inner = sized(11, inner)
    packet = sized(1, numeric(8, 1) + numeric(10, 1) + sized(11, numeric(9, 3) + sized(4, inner)))
    return {"": packet * (size // len(packet))}


def perfetto_bomb(size: int) -> Files:
    """Compressed packets that inflate to a thousand times their size."""
    whole = zlib.compress(perfetto_events(1 << 22)[""], 9)
    packet = sized(1, sized(50, whole))
    return {"": packet * max(size // len(packet) // 16, 1)}


def perfetto_holes(size: int) -> Files:
    """Damage behind each few packets."""
    packet = sized(1, numeric(8, 5) + numeric(10, 1) + sized(11, numeric(9, 3)))
    return {"": (packet * 5 + b"\xff" * 11) * (size // (5 * len(packet) + 11))}


def chrome_events(size: int) -> Files:
    """Small events."""
    return {"": b"[" + b'{"ph":"i","ts":1},' * (size // 18)}


def chrome_names(size: int) -> Files:
    """A name for each event."""
    events = (b'{"ph":"i","ts":1,"name":"%d"},' % i for i in range(size // 34))
    return {"": b"[" + b"".join(events)}


def chrome_classes(size: int) -> Files:
    """An argument of another name for each event."""
    events = (b'{"ph":"i","ts":1,"args":{"%d":1}},' % i for i in range(size // 38))
    return {"": b"[" + b"".join(events)}


def chrome_nested(size: int) -> Files:
    """Arguments nested deeply."""
    event = b'{"ph":"i","ts":1,"args":{"a":' + b"[" * 500 + b"]" * 500 + b"}},"
    return {"": b"[" + event * (size // len(event))}


def chrome_threads(size: int) -> Files:
    """A thread for each event."""
    events = (b'{"ph":"i","ts":1,"pid":%d,"tid":%d},' % (i, i) for i in range(size // 44))
    return {"": b"[" + b"".join(events)}


_CTF = b"""/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
"""


def ctf_packets(size: int) -> Files:
    """Packets of a few bytes."""
    metadata = (
        _CTF
        + b"""stream { packet.context := struct { u8 packet_size; u8 content_size; };
event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { u8 v; }; };"""
    )
    return {"metadata": metadata, "stream": b"\x20\x20\0\1" * (size // 4)}


def ctf_events(size: int) -> Files:
    """Events of one byte."""
    metadata = (
        _CTF
        + b"""stream { event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { }; };"""
    )
    return {"metadata": metadata, "stream": bytes(size)}


def ctf_classes(size: int) -> Files:
    """A declaration for each event."""
    events = b"".join(
        b'event { name = "%d"; id = %d; fields := struct { u8 v; }; };' % (i, i)
        for i in range(size // 64)
    )
    header = b"""typealias integer { size = 32; align = 8; signed = false; } := u32;
stream { event.header := struct { u32 id; }; };"""
    stream = b"".join(struct.pack("<IB", i, 1) for i in range(size // 64))
    return {"metadata": _CTF + header + events, "stream": stream}


def ctf_nested(size: int) -> Files:
    """Structures within structures."""
    one = b"struct { " * 30 + b"u8 v;" + b"".join(b" } a%d;" % i for i in range(30))
    fields = b" ".join(one.replace(b"a29", b"m%d" % i) for i in range(size // len(one)))
    metadata = (
        _CTF
        + b"""stream { event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { """
        + fields
        + b" }; };"
    )
    return {"metadata": metadata, "stream": b""}


def uftrace_symbols(size: int) -> Files:
    """Many symbols."""
    lines = b"".join(b"%016x T f%d\n" % (i * 16, i) for i in range(size // 28))
    return _uftrace({"prog.sym": lines})


def uftrace_records(size: int) -> Files:
    """Nothing but small records."""
    record = struct.pack("<QQ", 5, 0x1000 << 16 | 5 << 3)
    return _uftrace({"1.dat": record * (size // 16)})


def uftrace_sessions(size: int) -> Files:
    """Many tasks that fork."""
    lines = b"".join(
        b"FORK timestamp=1.000000000 pid=%d ppid=%d\n" % (i, i - 1) for i in range(2, size // 46)
    )
    return _uftrace({"task.txt": lines})


def uftrace_images(size: int) -> Files:
    """Many sessions of one image, which open many libraries."""
    session = b'SESS timestamp=1.000000000 pid=1 sid=0000000000000001 exename="prog"\n'
    library = b'DLOP timestamp=1.000000000 tid=1 sid=0000000000000001 base=1000 libname="l"\n'
    return _uftrace({"task.txt": (session + library) * (size // (len(session) + len(library)))})


def uftrace_nonsense(size: int) -> Files:
    """Lines that make no sense, each with a warning."""
    return _uftrace({"task.txt": b"".join(b"%d\n" % i for i in range(size // 7))})


def _uftrace(files: Files) -> Files:
    info = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0, 0, 1023, 0, 0)
    session = b'SESS timestamp=0.100000000 pid=1 sid=0000000000000001 exename="prog"\n'
    task = session + b"TASK timestamp=0.100000000 tid=1 pid=1\n"
    return {
        "info": info,
        "task.txt": task + files.pop("task.txt", b""),
        "sid-0000000000000001.map": b"00000000-7fffffff r-xp 00000000 00:00 0 prog\n",
        "1.dat": b"",
        **files,
    }


def uftrace_holes(size: int) -> Files:
    """Damage behind each few records."""
    record = struct.pack("<QQ", 5, 0x1000 << 16 | 5 << 3)
    piece = record * 5 + bytes(8)
    return _uftrace({"1.dat": piece * (size // len(piece))})


def uftrace_values(size: int) -> Files:
    """Records with values of no known size, behind each of which records are looked for."""
    record = struct.pack("<QQ", 5, 0x1000 << 16 | 5 << 3 | 4)
    return _uftrace({"1.dat": (record + b"\xff" * 1000) * (size // 1016)})


def aix_entries(size: int) -> Files:
    """Entries without data."""
    entry = struct.pack(">HHHHQQ", 0x8000, 0, 0x5000, 0, 1, 5)
    return {"": _AIX + entry * (size // len(entry))}


def aix_hooks(size: int) -> Files:
    """A hook of its own for each of many entries, and a thread for each."""
    entry = struct.Struct(">HHHHQQ")
    entries = (entry.pack(0x8000, 0, i & 0xFFFF | 1, 0, i, i) for i in range(size // entry.size))
    return {"": _AIX + b"".join(entries)}


def aix_holes(size: int) -> Files:
    """Entries that are too long, behind which seven others follow each other."""
    entry = struct.pack(">HHHHQQ", 0x8000, 0, 0x5000, 0, 1, 5)
    beyond = struct.pack(">HHHH", 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF)
    piece = entry * 7 + beyond
    return {"": _AIX + piece * (size // len(piece))}


_AIX = bytes.fromhex("efdf1114")


def _legacy(size: int, kernel: Callable[[Recording], None]) -> Files:
    recording = Recording(version=(2, 6), block_size=2 * size + (1 << 16))
    recording.declare("kernel", "number", 0, "n %d")
    kernel(recording)
    # Without the padding of the last block.
    return {name: data.rstrip(b"\0") + bytes(16) for name, data in recording.build().items()}


def lttng_legacy_events(size: int) -> Files:
    """Events of 8 bytes."""

    def numbers(recording: Recording) -> None:
        for number in range(size // 8):
            recording.event("kernel", 0, START + number, 0, struct.pack("<i", 1 + number))

    return _legacy(size, numbers)


def lttng_legacy_holes(size: int) -> Files:
    """Damage behind each few events of one block."""
    files = lttng_legacy_events(size)
    data = bytearray(files["kernel_0"])
    for at in range(512, len(data) - 24, 256):
        data[at : at + 24] = b"\xff" * 24
    return {**files, "kernel_0": bytes(data)}


def lttng_legacy_texts(size: int) -> Files:
    """Behind damage, headers of texts that do not end."""

    def texts(recording: Recording) -> None:
        recording.declare("kernel", "text", 1, "t %s")
        recording.event("kernel", 0, START, 0, struct.pack("<i", 1))
        words = b"".join(struct.pack("<I", 1 << 27 | 0x010101 + i) for i in range(1 << 12))
        recording.event("kernel", 0, START + 1, 0, bytes(4))
        recording.event("kernel", 0, START + 2, 9, words * (size // len(words) + 1))

    return _legacy(size, texts)


def lttng_legacy_markers(size: int) -> Files:
    """Declarations of markers that there are no events of."""

    def declared(recording: Recording) -> None:
        for number in range(size // 100):
            recording.declare("kernel", f"m{number}", number & 0xFFFF, "a %d b %s")
        recording.event("kernel", 0, START, 0, struct.pack("<i", 1))

    return _legacy(size, declared)


def trace_cmd_formats(size: int) -> Files:
    """Formats of events that there are none of."""
    formats = [format_text("e", i & 0xFFFF, "u32 v 8 4 0", '"x"') for i in range(size // 420)]
    return {"": File(formats={"system": formats}).version_7()}


def trace_cmd_options(size: int) -> Files:
    """Options that describe buffers that are not there."""
    option = struct.pack("<QBBII", 0, 0, 0, 4096, 0)
    count = size // (len(option) + 6)
    return {"": File(options=[(3, option)] * count).version_7()}


def trace_cmd_pages(size: int) -> Files:
    """The smallest pages, with the smallest records."""
    kernel = Kernel(page_size=64)
    page = kernel.page(5, *[kernel.word(1, 0) + bytes(4)] * 5)
    data = File(kernel, {0: page * (size // 64)}).version_7()
    return {"": data}


def trace_cmd_sections(size: int) -> Files:
    """Sections that lead nowhere, each to be looked for."""
    header = struct.pack("<HHIQ", 17, 0, 0, 1 << 40)
    links = struct.pack("<HHIQ", 16, 0, 0, 16) + bytes(16)
    data = File().version_7()
    return {"": data[:48] + (header + links + header) * (size // 64) + data[48:]}


def trace_cmd_lost_pages(size: int) -> Files:
    """A piece was lost in front of pages that could begin anywhere."""
    kernel = Kernel(page_size=4096)
    first = kernel.page(5, kernel.record(0, kernel.slice(1, 1)))
    data = File(kernel, {0: first * 2 + b"\x41\0\0\0\0\0\0\0" * (size // 8)}).version_6()
    return {"": data[:300] + data[308:]}


def trace_cmd_chunks(size: int) -> Files:
    """Chunks that look like some and are none."""
    chunk = struct.pack("<II", 8, 4096) + b"\x28\xb5\x2f\xfd" + bytes(4)
    kernel = Kernel()
    data = File(kernel, {0: kernel.page(5)}).version_7("zstd")
    whole = struct.pack("<I", size // 16) + chunk * (size // 16)
    at = data.rindex(b"\x28\xb5\x2f\xfd", 0, data.rindex(b"\x28\xb5\x2f\xfd")) - 12
    return {"": data[:at] + whole}


def ctf_holes(size: int) -> Files:
    """Packets that say that they are longer than they are."""
    metadata = (
        _CTF
        + b"""typealias integer { size = 32; align = 8; signed = false; } := u32;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
stream { packet.context := struct { u32 packet_size; u32 content_size; };
event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { }; };"""
    ).replace(b"trace { major = 1; minor = 8; byte_order = le; };\n", b"", 1)
    packet = struct.pack("<III", 0xC1FC1FC1, 1 << 16, 1 << 16) + bytes(20)
    return {"metadata": metadata, "stream": packet * (size // len(packet))}


def fxt_gzip(size: int) -> Files:
    """Events in gzip, a thousand times smaller."""
    return {"": gzip.compress(fxt_events(400 * size)[""], 9)}


def fxt_zstd(size: int) -> Files:
    """Events in zstd, ten thousand times smaller: only so much is unpacked."""
    return {"": _often(zstandard.compress(fxt_events(1 << 25)[""], 19), size)}


def fxt_xz(size: int) -> Files:
    """The same in xz, five thousand times smaller."""
    return {"": _often(lzma.compress(fxt_events(1 << 23)[""]), size)}


def fxt_bzip2(size: int) -> Files:
    """The same in bzip2."""
    return {"": _often(bz2.compress(fxt_events(1 << 23)[""]), size)}


def _often(member: bytes, size: int) -> bytes:
    return member * max(size // len(member), 1)


def fxt_zip(size: int) -> Files:
    """Many names of one file, which shrinks a thousand times."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as into:
        into.writestr("0.fxt", fxt_events(500 * size)[""])
        for number in range(1, 10):
            same = copy.copy(into.filelist[0])
            same.filename = f"{number}.fxt"
            into.filelist.append(same)
    return {"": archive.getvalue()}


def fxt_links(size: int) -> Files:
    """A tar archive of nothing but links that lead out of it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(size // 512):
            link = tarfile.TarInfo(f"{i}")
            link.type, link.linkname = tarfile.SYMTYPE, "../x"
            tar.addfile(link)
    return {"": archive.getvalue()}


def fxt_members(size: int) -> Files:
    """An archive of nothing but empty files."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(size // 512):
            tar.addfile(tarfile.TarInfo(f"{i}"))
    return {"": archive.getvalue()}


def trace_cmd_zstd(size: int) -> Files:
    """Chunks of the same pages, ten thousand times smaller."""
    kernel = Kernel()
    page = kernel.page(5, *[kernel.record(1, kernel.slice(1, 2))] * 60)
    data = File(kernel, {0: page * 1000}).version_7("zstd")
    begin = data.rindex(b"\x28\xb5\x2f\xfd") - 8
    chunk = zstandard.compress(page * 10_000, 19)
    chunk = struct.pack("<II", len(chunk), len(page) * 10_000) + chunk
    count = max(size // len(chunk), 1)
    return {"": data[: begin - 4] + struct.pack("<I", count) + chunk * count}


def ir_zstd(size: int) -> Files:
    """Records that unpack to ten thousand times their size."""
    with open_trace(fxt_events(1 << 10)[""]) as trace, tempfile.TemporaryDirectory() as folder:
        write(trace, f"{folder}/out.tcir")
        whole = Path(f"{folder}/out.tcir").read_bytes()
    text = sized(1, sized(15, bytes(1 << 26)))
    record = sized(1, sized(2, zstandard.compress(text, 19)))
    return {"": whole + record * max(size // len(record), 1)}


def ir_events(size: int) -> Files:
    """A canonical form with a class for each event."""
    classes = [{"kind": "TYPED", "name": str(i), "fields": []} for i in range(size // 72)]
    form = {
        "clock": {"name": "ns", "ticks_per_second": "1", "epoch_ns": None, "description": ""},
        "clock_domains": [], "environment": {}, "processes": [], "threads": [], "tracks": [],
        "classes": classes,
        "events": [[i, i, None, None, None, []] for i in range(len(classes))],
        "untimed": [],
    }  # fmt: skip
    return {"": json.dumps(form).encode()}


INPUTS: dict[str, Callable[[int], Files]] = {
    name: make
    for name, make in [*globals().items(), *vars(costly_profiles).items()]
    if callable(make) and name.startswith(tuple(f"{format.name}_" for format in FORMATS))
}
