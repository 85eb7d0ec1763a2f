"""The worst profiles, recordings of perf and texts of ftrace that are known, of any size."""

from __future__ import annotations

import json
import struct

from fuzz import Files
from support.inputs.protobuf_fields import numeric, sized
from support.profiles.perf_files import CALLCHAIN, TID, TIME, Maker
from support.profiles.simpleperf_messages import file_of

_DEEP = 1000


def pprof_fields(size: int) -> Files:
    """Samples with nothing in them."""
    return {"": _PPROF + b"\x12\x00" * (size // 2)}


def pprof_strings(size: int) -> Files:
    """Strings that are all different."""
    return {"": _PPROF + b"".join(sized(6, b"%06d" % i) for i in range(size // 8))}


def pprof_locations(size: int) -> Files:
    """Locations and functions that refer to each other."""
    tables = (
        sized(4, numeric(1, i) + sized(4, numeric(1, i))) + sized(5, numeric(1, i))
        for i in range(1, size // 16)
    )
    return {"": _PPROF + b"".join(tables)}


def pprof_stack(size: int) -> Files:
    """One sample of all frames."""
    return {"": _PPROF + sized(4, numeric(1, 1)) + sized(2, sized(1, b"\x01" * size))}


def pprof_inlined(size: int) -> Files:
    """Samples of one location of many inlined calls."""
    location = sized(4, numeric(1, 1) + sized(4, b"") * _DEEP)
    return {"": _PPROF + location + sized(2, b"\x08\x01\x10\x01") * (size // 6)}


def pprof_labels(size: int) -> Files:
    """Samples that all have other labels."""
    strings = b"".join(sized(6, b"%06d" % i) for i in range(size // 20))
    samples = (sized(2, sized(3, numeric(1, i) + numeric(3, i))) for i in range(size // 20))
    return {"": _PPROF + strings + b"".join(samples)}


_PPROF = sized(6, b"") + sized(1, numeric(1, 0))


def simpleperf_records(size: int) -> Files:
    """The smallest records."""
    return {"": file_of(*[b"\x01\0\0\0\x80"] * (size // 5))}


def simpleperf_samples(size: int) -> Files:
    """Samples with nothing in them."""
    return {"": file_of(*[b"\x02\0\0\0\x0a\x00"] * (size // 6))}


def simpleperf_stack(size: int) -> Files:
    """Samples of frames with nothing in them."""
    sample = sized(1, b"\x1a\x00" * 100_000)
    one = struct.pack("<I", len(sample)) + sample
    return {"": file_of(*[one] * max(size // len(one), 1))}


def simpleperf_files(size: int) -> Files:
    """Symbols that are all different, and threads."""
    files = (
        sized(3, numeric(1, i) + sized(2, b"%d" % i) + sized(3, b"s%d" % i))
        for i in range(size // 40)
    )
    threads = (sized(4, numeric(1, i) + numeric(2, i)) for i in range(size // 40))
    records = [struct.pack("<I", len(one)) + one for one in (*files, *threads)]
    return {"": file_of(*records)}


def gecko_deep(size: int) -> Files:
    """Samples of one deep stack."""
    samples = size // 4
    return {"": _gecko([*range(_DEEP)], [_DEEP - 1] * samples, [0] * samples)}


def gecko_samples(size: int) -> Files:
    """Samples without a stack."""
    return {"": _gecko([], [None] * (size // 7), [0] * (size // 7))}


def gecko_frames(size: int) -> Files:
    """Frames, each within the one before, and no samples."""
    return {"": _gecko([*range(size // 12)], [], [])}


def gecko_objects(size: int) -> Files:
    """Objects that mean nothing."""
    whole = _gecko([], [], [])
    return {"": whole[:-1] + b',"others":[' + b"{}," * (size // 3) + b"0]}"}


def gecko_threads(size: int) -> Files:
    """Threads with nothing in them."""
    return {"": _gecko([], [], []).replace(b'"threads": [', b'"threads": [' + b"{}," * (size // 3))}


def gecko_shared(size: int) -> Files:
    """Threads that share large tables."""
    count = size // 80
    whole = json.loads(_gecko([*range(count)], [], []))
    thread = whole["threads"][0]
    whole["shared"] = {
        name: thread.pop(name) for name in ("stringArray", "funcTable", "frameTable", "stackTable")
    }
    whole["libs"] = [{"name": f"{i}"} for i in range(count)]
    some = b'{"resourceTable":{"lib":[0]},"samples":{"stack":[0],"time":[0]}},'
    return {
        "": json.dumps(whole)
        .encode()
        .replace(b'"threads": [', b'"threads": [' + some * (count // 3))
    }


def _gecko(frames: list[int], stack: list[int | None], time: list[int]) -> bytes:
    count = len(frames)
    thread = {
        "name": "a", "pid": 1, "tid": 1, "processType": "default",
        "stringArray": ["f"],
        "funcTable": {"length": 1, "name": [0], "isJS": [False], "resource": [-1]},
        "resourceTable": {"length": 0, "lib": [], "name": []},
        "frameTable": {"length": count, "func": [0] * count, "address": [-1] * count},
        "stackTable": {"length": count, "frame": frames, "prefix": [None, *range(count - 1)][:count]},
        "samples": {"length": len(stack), "stack": stack, "time": time},
        "markers": {"length": 0, "name": [], "data": [], "startTime": [], "endTime": [], "phase": []},
    }  # fmt: skip
    meta = {"version": 30, "preprocessedProfileVersion": 50, "interval": 1, "startTime": 0}
    whole = {"meta": {**meta, "categories": [], "product": "a"}, "libs": [], "threads": [thread]}
    return json.dumps(whole).encode()


def cpuprofile_deep(size: int) -> Files:
    """Samples of one deep stack."""
    samples = b",".join([b"%d" % (_DEEP - 1)] * (size // 6))
    return {"": _cpuprofile(_DEEP, samples, b"0," * (size // 6) + b"0")}


def cpuprofile_nodes(size: int) -> Files:
    """Nodes, each within the one before."""
    return {"": _cpuprofile(size // 30, b"0", b"0")}


def cpuprofile_objects(size: int) -> Files:
    """Nodes that are none."""
    return {"": b'{"nodes":[' + b"{}," * (size // 3) + b'{"id":1}]}'}


def _cpuprofile(nodes: int, samples: bytes, deltas: bytes) -> bytes:
    tree = b",".join(b'{"id":%d,"children":[%d]}' % (i, i + 1) for i in range(nodes))
    head = b'{"nodes":[' + tree + b'],"startTime":0,"endTime":9,"samples":['
    return head + samples + b'],"timeDeltas":[' + deltas + b"]}"


def speedscope_samples(size: int) -> Files:
    """Samples of one frame each."""
    return {"": _speedscope(b"[0]," * (size // 6) + b"[0]", b"1," * (size // 6) + b"1")}


def speedscope_stack(size: int) -> Files:
    """A sample of all frames."""
    return {"": _speedscope(b"[" + b"0," * (size // 2) + b"0]", b"1")}


def speedscope_frames(size: int) -> Files:
    """Frames that are all different."""
    frames = b",".join(b'{"name":"%d"}' % i for i in range(size // 17))
    return {"": _speedscope(b"[0]", b"1", frames)}


def speedscope_profiles(size: int) -> Files:
    """Profiles with nothing in them."""
    profile = b'{"type":"sampled","name":"","unit":"none","startValue":0,"endValue":1,"samples":[],"weights":[]},'
    whole = _speedscope(b"[0]", b"1")
    count = size // len(profile)
    return {"": whole.replace(b'"profiles":[', b'"profiles":[' + profile * count)}


def speedscope_turns(size: int) -> Files:
    """Profiles that run in turn."""
    profiles = (
        b'{"type":"evented","name":"","unit":"none","startValue":0,"endValue":1,"events":['
        b'{"type":"O","frame":0,"at":%d},{"type":"C","frame":0,"at":%d}]}' % (at, at + 1)
        for at in range(size // 150)
    )
    return {"": _SPEEDSCOPE % b'{"name":"a"}' + b",".join(profiles) + b"]}"}


def speedscope_calls(size: int) -> Files:
    """Calls that do not return."""
    events = b'{"type":"O","frame":0,"at":0},' * (size // 30) + b'{"type":"O","frame":0,"at":1}'
    profile = b'{"type":"evented","name":"a","unit":"none","startValue":0,"endValue":1,"events":['
    return {"": _SPEEDSCOPE % b'{"name":"a"}' + profile + events + b"]}]}"}


_SPEEDSCOPE = (
    b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[%s]},'
    b'"profiles":['
)


def _speedscope(samples: bytes, weights: bytes, frames: bytes = b'{"name":"a"}') -> bytes:
    profile = b'{"type":"sampled","name":"a","unit":"none","startValue":0,"endValue":1,"samples":['
    return _SPEEDSCOPE % frames + profile + samples + b'],"weights":[' + weights + b"]}]}"


def folded_lines(size: int) -> Files:
    """The smallest lines."""
    return {"": b"a 1\n" * (size // 4)}


def folded_stack(size: int) -> Files:
    """Lines of many frames."""
    return {"": (b"a;" * 50_000 + b"a 1\n") * max(size // 100_000, 1)}


def folded_names(size: int) -> Files:
    """A name for each line."""
    return {"": b"".join(b"%06d 1\n" % i for i in range(size // 9))}


def perf_records(size: int) -> Files:
    """The smallest samples."""
    return _perf(Maker().record(9, bytes(8 * 3)), size)


def perf_headers(size: int) -> Files:
    """Records of nothing but their headers."""
    return _perf(Maker().record(69), size)


def perf_tasks(size: int) -> Files:
    """A thread, a name and a mapping for each sample."""
    make = Maker()
    end = make.task(1, 1) + make.words(0, 0)
    records = b"".join(
        make.comm(i, i, b"%d" % i, end) + make.mmap(i, 0, 1 << 20, 0, b"%d" % i, end)
        for i in range(size // 144)
    )
    return _perf(records, len(records))


def perf_backwards(size: int) -> Files:
    """Samples of which each is earlier than the one before."""
    make = Maker()
    body = (make.record(9, make.words(0, 0, 1 << 40, 0)) for _ in range(1))
    one = len(next(body))
    samples = b"".join(
        make.record(9, make.task(1, 1) + make.words((1 << 40) - i, 0)) for i in range(size // one)
    )
    return _perf(samples, len(samples))


def _perf(record: bytes, size: int) -> Files:
    make = Maker()
    event = make.attribute(TID | TIME | CALLCHAIN), []
    return {"": make.file([event], record * max(size // len(record), 1))}


def perf_script_samples(size: int) -> Files:
    """Small samples."""
    return {"": b"a 1 0.1: e:\n\n" * (size // 13)}


def perf_script_classes(size: int) -> Files:
    """An event of its own for each sample."""
    return {"": b"".join(b"a 1 0.1: e%06d:\n\n" % i for i in range(size // 19))}


def perf_script_frames(size: int) -> Files:
    """Samples of many frames."""
    one = b"a 1 0.1: e:\n" + b" 1 a (b)\n" * 1000 + b"\n"
    return {"": one * max(size // len(one), 1)}


def perf_script_nonsense(size: int) -> Files:
    """Lines that make no sense between samples."""
    return {"": b"a 1 0.1: e:\n\n" + b"x\n" * (size // 2) + b"a 1 0.1: e:\n\n"}


def ftrace_text_events(size: int) -> Files:
    """Small events."""
    return {"": _FTRACE + b"a-1 [0] 0.1: e: \n" * (size // 17)}


def ftrace_text_classes(size: int) -> Files:
    """An event of its own for each line."""
    lines = (b"a-1 [000] .... 0.1: e%06d: a=1\n" % i for i in range(size // 33))
    return {"": _FTRACE + b"".join(lines)}


def ftrace_text_tasks(size: int) -> Files:
    """A task for each line."""
    lines = (b"a%d-%d [000] .... 0.1: e: a=1\n" % (i, i) for i in range(size // 38))
    return {"": _FTRACE + b"".join(lines)}


def ftrace_text_nonsense(size: int) -> Files:
    """Lines that make no sense between events."""
    return {"": _FTRACE + b"a-1 [000] .... 0.1: e: a=1\n" + b"x\n" * (size // 2)}


_FTRACE = b"# tracer: nop\n#\n"
