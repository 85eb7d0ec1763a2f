"""The `info` file of a directory that did not come from uftrace."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from converter.formats.uftrace.layout import Feature, Header, InfoBit, build_header
from converter.formats.uftrace.writing.tasks import PROGRAM


def build_info(
    environment: Mapping[str, str | int],
    numbers: Sequence[int],
    *,
    features: Feature,
    cpu_count: int,
    max_stack: int,
    start: int,
    end: int,
    epoch_ns: int | None,
) -> bytes:
    """Return the file: the lines that uftrace needs, and the part of the environment that it shows.

    Args:
        environment: the trace's environment.
        numbers: of the tasks that have a file.
        features: the features of the directory.
        cpu_count: at least the number of CPUs that events were on.
        max_stack: the nesting depth of functions.
        start: the first event's time, in nanoseconds.
        end: the last event's.
        epoch_ns: the time of 0 in nanoseconds since 1970, where known.

    """

    def known(name: str, default: str) -> str:
        return " ".join(str(environment.get(name, default)).split())

    wall = 0 if epoch_ns is None else (epoch_ns + start) // 10**9
    tasks = ",".join(map(str, numbers))
    system = known("sysname", "Linux")
    kernel = known("kernel_release", "unknown")
    tool = f"{known('tracer_name', 'unknown')} {known('tracer_version', '')}".strip()
    lines = {
        InfoBit.EXE_NAME: [f"exename:{PROGRAM}"],
        InfoBit.EXIT_STATUS: ["exit_status:0"],
        # uftrace prints it as the content of a JSON string.
        InfoBit.CMDLINE: [f"cmdline:{json.dumps(f'traceconv ({tool})')[1:-1]}"],
        InfoBit.CPUINFO: [
            "cpuinfo:lines=2",
            f"cpuinfo:nr_cpus={cpu_count} / {cpu_count} (online/possible)",
            f"cpuinfo:desc={known('machine', 'unknown')}",
        ],
        InfoBit.MEMINFO: ["meminfo:0.0 / 0.0 GB (free / total)"],
        InfoBit.OSINFO: [
            "osinfo:lines=3",
            f"osinfo:kernel={system} {kernel}",
            f"osinfo:hostname={known('hostname', 'unknown')}",
            f'osinfo:distro="{known("distro", "unknown")}"',
        ],
        InfoBit.TASKINFO: [
            "taskinfo:lines=2",
            f"taskinfo:nr_tid={len(numbers)}",
            f"taskinfo:tids={tasks}",
        ],
        InfoBit.RECORD_DATE: [
            f"record_date:{time.asctime(time.gmtime(min(max(wall, 0), 1 << 35)))}",
            f"elapsed_time:{(end - start) // 10**9}.{(end - start) % 10**9:09d} sec",
        ],
        InfoBit.PATTERN_TYPE: ["pattern_type:regex"],
        InfoBit.VERSION: ["uftrace_version:traceconv"],
    }
    if features & Feature.AUTO_ARGS:
        # All functions have the values in the debug information.
        lines[InfoBit.ARG_SPEC] = ["argspec:lines=1", "auto-args:1"]
    if epoch_ns is not None:
        lines[InfoBit.UTC_OFFSET] = [f"utc_offset:{epoch_ns // 10**9}"]
    header = Header(
        features=int(features),
        info_mask=sum(1 << bit for bit in lines),
        max_stack=min(max(max_stack, 1024), 0xFFFF),
    )
    text = "".join(f"{line}\n" for bit in sorted(lines) for line in lines[bit])
    return build_header(header) + text.encode("utf-8", "surrogateescape")
