"""Inputs that reach a limit, each as a function of what is said of it under given limits."""

import io
import json
import struct
import tarfile
import tempfile
from pathlib import Path

from fuzz import packed
from support.aix.trcfmt_entries import report
from support.ctf import lttng_legacy_files
from support.ctf.ctf2_fragments import STREAM, U8, event, sequence
from support.inputs.costly_inputs import INPUTS
from support.perfetto import files as perfetto_files
from support.profiles import perf_files, simpleperf_messages
from support.profiles.pprof_messages import Builder
from support.uftrace import files as uftrace_files

import converter
from converter.errors import TraceError
from converter.formats.ftrace.print_format.expressions import parse_print_fmt
from converter.formats.perf.data import reading as perf_reading
from converter.ir.events import decode
from converter.jobs.reading import open_trace
from converter.limits import limited
from converter.storage.source import MemorySource

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "roundtrip_fixtures"


def read(data, limits):
    """What is said of an input: its warnings, the error."""
    said = []
    with limited(limits):
        try:
            with open_trace(data) as trace:
                for batch in trace.batches():
                    decode(batch)
                    if trace.describe is not None:
                        describe = trace.describe(batch)
                        said += [describe(position) for position in range(len(batch))]
                if trace.symbols is not None:
                    len(trace.symbols)
                said += map(str, trace.warnings)
        except TraceError as error:
            said.append(str(error))
    return "\n".join(map(str, said))


def hits(count):
    """A profile of V8 without samples, with so many hits."""
    return b'{"nodes":[{"id":1,"callFrame":{"functionName":"f"},"hitCount":%d}]}' % count


def deep_profile(frames, types=1):
    """A profile of one sample with a call stack of so many frames."""
    made = Builder().types(*[("cpu", "nanoseconds")] * types)
    name = made.function("f")
    made.sample([made.location(1, (name, line + 1)) for line in range(frames)], [1] * types)
    return made.bytes()


def simpleperf():
    """Samples of simpleperf."""
    return simpleperf_messages.file_of(*simpleperf_messages.small())


def of(name, size):
    """One of the inputs that cost most."""
    return lambda limits: read(packed(INPUTS[name](size)), limits)


def file(name):
    """A fixture."""
    return lambda limits: read(FIXTURES / name, limits)


def made(make):
    """What a function makes."""
    return lambda limits: read(make(), limits)


def under(make):
    """What a function says or raises."""

    def said(limits):
        with limited(limits):
            try:
                return str(make())
            except (TraceError, ValueError) as error:
                return str(error)

    return said


def tar(*files, name=""):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as into:
        for number, data in enumerate(files):
            info = tarfile.TarInfo(f"{name}{number}")
            info.size = len(data)
            into.addfile(info, io.BytesIO(data))
    return archive.getvalue()


def templates(body, more=""):
    return under(lambda: report(body, more=more).warning)


def profile():
    thread = {"name": "t", "tid": 1, "pid": 1, "markers": {}, "samples": {}}
    return json.dumps({"meta": {"version": 24, "interval": 1}, "threads": [thread]}).encode()


def classes(count):
    """A trace of JSON with a class for each event."""
    events = [
        {"ph": "i", "name": "n", "ts": 1, "pid": 1, "tid": 1, "s": "t", "args": {f"k{number}": 1}}
        for number in range(count)
    ]
    return json.dumps(events).encode()


def ctf(metadata, **files):
    return packed({"metadata": metadata, **files})


def tsdl(fields, events=1):
    text = INPUTS["ctf_events"](1)["metadata"]
    return text + b"".join(
        b'event { name = "e%d"; id = %d; fields := struct { %s }; };' % (i, i, fields)
        for i in range(1, 1 + events)
    )


def aliases():
    listed = {
        "type": "dynamic-length-array",
        "length-field-location": {"path": ["n"]},
        "element-field-class": U8,
    }
    many = {"type": "field-class-alias", "name": "m", "field-class": listed}
    return ctf(sequence(many, STREAM, event(n=U8, **dict.fromkeys("defgh", "m"))), stream=b"")


PERF = perf_files.Maker()


def perf(make, **options):
    """What is said of a recording of perf."""

    def said():
        trace = perf_reading.read(MemorySource("perf.data", make()), **options)
        for batch in trace.batches():
            decode(batch)
        return "\n".join(map(str, trace.warnings))

    return under(said)


def perf_file(records=b"", features=None, events=1):
    attribute = PERF.attribute(perf_files.USUAL, flags=0)
    return PERF.file([(attribute, [n]) for n in range(events)], records, features)


def perf_mappings():
    return b"".join(PERF.mmap(1, start << 16, 9, 0, b"f") for start in range(3))


def perf_auxtrace():
    return PERF.record(perf_files.AUXTRACE, PERF.words(8, *[0] * 4)) + bytes(8) + PERF.sample(1)


def kernel_symbols():
    made_of = perfetto_files.File()
    for iid in (1, 2, 3):
        packet = made_of.packet(5, 1)
        packet.interned_data.kernel_symbols.add(iid=iid, str=b"f%d" % iid)
    return made_of.bytes()


def stack_of_frames():
    made_of = perfetto_files.File()
    packet = made_of.packet(5, 1)
    packet.interned_data.function_names.add(iid=1, str=b"f")
    packet.interned_data.frames.add(iid=1, function_name_id=1)
    packet.interned_data.callstacks.add(iid=1, frame_ids=[1] * 5)
    packet.perf_sample.callstack_iid = 1
    return made_of.bytes()


def representation(*source):
    """What a source is in the exact form."""

    def make():
        with open_trace(*source) as trace, tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.tcir"
            converter.write(trace, out)
            return out.read_bytes()

    return made(make)


def suspects():
    whole = INPUTS["fxt_events"](160)[""]
    # Its arguments are other events, and too few.
    none = struct.pack("<QQ", 4 | 20 << 4 | 15 << 20 | 1 << 24 | 1 << 48, 0) + whole[8:152]
    return whole + none * 5


def nested_tracks():
    made_of = perfetto_files.File()
    for uuid in range(1, 8):
        made_of.track(uuid, f"t{uuid}", uuid - 1)
    made_of.event(5, 3, "n", 7)
    return made_of.bytes()


def large_packet():
    made_of = perfetto_files.File()
    made_of.event(5, 3, "n")
    whole = made_of.bytes()
    size = 9 << 20
    length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21])
    return whole + b"\x0a" + length + bytes(size) + whole


def uftrace(**more):
    return packed(uftrace_files.Directory(**more).contents())


def values(spec):
    return made(lambda: uftrace(argspec=spec, tasks={1234: b""}))


def long_event():
    """Of 20 texts of 64 KiB."""
    texts = ",".join(f"arg{i}/s" for i in range(1, 21))
    directory = uftrace_files.Directory(argspec=f"foo@{texts}")
    data = directory.text(b"x" * 65_500) * 20
    call = directory.record(10, 0, 0, uftrace_files.FOO + 4, data)
    directory.tasks[1234] = call + uftrace_files.calls(directory, 20)
    return packed(directory.contents())


def ancestors():
    lines = "".join(f"FORK timestamp=1.000000000 pid={i} ppid={i + 1}\n" for i in range(2, 9))
    lines += 'SESS timestamp=0.1 pid=9 sid=0000000000000001 exename="prog"\n'
    files = INPUTS["uftrace_records"](160)
    data = files.pop("1.dat")
    return packed({**files, "2.dat": data, "task.txt": lines.encode()})


def printed(text):
    return under(lambda: parse_print_fmt('"%d", ' + text))


def report_of_hooks():
    head = "ID    ELAPSED_SEC     DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT"
    lines = (f"5{i:02X}   0.00000000{i}      0.000001              text {i}" for i in range(5))
    return f"\nMon Jan 1 10:00:00 2024\nSystem: AIX 7.2 Node: n\n\n{head}\n\n{chr(10).join(lines)}\n".encode()


def replaced():
    opened = "".join(
        f'DLOP timestamp=1.{i:09} tid=1 sid=0000000000000001 base=1000 libname="l{i}"\n'
        for i in range(5)
    )
    files = INPUTS["uftrace_records"](160)
    return packed({**files, "task.txt": files["task.txt"] + opened.encode()})


def legacy(fields=3, declared=3):
    trace = lttng_legacy_files.Trace(version=(2, 6))
    for number in range(declared):
        trace.declare("kernel", f"m{number}", number, " ".join(f"f{i} %d" for i in range(fields)))
    trace.event("kernel", 0, lttng_legacy_files.START, 0, trace.payload(*[("i", 1)] * fields))
    return packed(trace.build())


def legacy_event():
    trace = lttng_legacy_files.Trace(version=(2, 6), block_size=1 << 22)
    trace.declare("kernel", "m", 0, "t %s")
    at = lttng_legacy_files.START
    trace.event("kernel", 0, at, 0, trace.payload("x" * (1 << 21)), full=True)
    trace.event("kernel", 0, at + 1, 0, trace.payload("y"))
    return packed(trace.build())
