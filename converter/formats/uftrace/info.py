"""The lines of `info` about the recording, the program and the machine (cmds/info.c)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from converter.errors import TraceError
from converter.limits import allowed, limit

#: Entries of the environment by the key of a line. Lines of a group ("osinfo:") have a second key after it.
_ENVIRONMENT = {
    "exename": "exename",
    "build_id": "build_id",
    "cmdline": "cmdline",
    "cpuinfo:nr_cpus": "nr_cpus",
    "cpuinfo:desc": "cpu",
    "meminfo": "meminfo",
    "osinfo:kernel": "kernel_release",
    "osinfo:hostname": "hostname",
    "osinfo:distro": "distro",
    "usageinfo:systime": "systime",
    "usageinfo:usrtime": "usrtime",
    "usageinfo:ctxsw": "ctxsw",
    "usageinfo:maxrss": "maxrss",
    "usageinfo:pagefault": "pagefault",
    "usageinfo:iops": "iops",
    "loadinfo": "loadinfo",
    "record_date": "record_date",
    "elapsed_time": "elapsed_time",
    "pattern_type": "pattern_type",
    "uftrace_version": "tracer_version",
    "sysctl": "sysctl",
}
_GROUPS = frozenset({"cpuinfo", "osinfo", "taskinfo", "usageinfo"})
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(slots=True)
class Info:
    """The content of the lines. Specifications are unparsed texts (see `arguments.specifications`)."""

    environment: dict[str, str | int] = field(default_factory=dict)
    tids: list[int] = field(default_factory=list)
    cmdline: str = ""
    #: The offset of the records' clock to 1970, in seconds.
    utc_offset: int | None = None
    pattern_type: str = "regex"
    argspec: str = ""
    retspec: str = ""
    argauto: str = ""
    retauto: str = ""
    enumauto: str = ""
    auto_args: bool = False
    #: Lines by key, for those that are not interpreted.
    lines: dict[str, str] = field(default_factory=dict)


def parse_info(text: bytes, offset: int, warn: Callable[[TraceError], None]) -> Info:
    """Parse the lines after the header, which ends at `offset`; invalid ones are omitted with a warning."""
    info = Info()
    at = offset
    for raw in text.split(b"\n"):
        start, at = at, at + len(raw) + 1
        if not raw:
            continue
        key, separator, value = raw.decode("utf-8", "surrogateescape").partition(":")
        if not separator:
            warn(TraceError(offset=start, field="info", expected="key:value", found=raw[:40]))
            continue
        try:
            _add_line(info, key, value)
        except ValueError as error:
            warn(TraceError(str(error), offset=start, field=f"info.{key}"))
    if info.environment:
        info.environment["tracer_name"] = "uftrace"
    return info


def _add_line(info: Info, key: str, value: str) -> None:
    if value.startswith("lines="):
        return
    if key in _GROUPS:
        inner, separator, value = value.partition("=")
        if not separator:
            raise ValueError("a line of a group is name=value")
        key = f"{key}:{inner}"
        if key == "osinfo:distro":
            value = value.strip('"')
    info.lines[key] = value
    if key in _ENVIRONMENT:
        info.environment[_ENVIRONMENT[key]] = value
    if key in ("argspec", "retspec", "argauto", "retauto", "enumauto", "pattern_type"):
        setattr(info, key, value)
    elif key == "cmdline":
        info.cmdline = value
    elif key == "auto-args":
        info.auto_args = value == "1"
    elif key == "exit_status":
        info.environment[key] = _integer(value)
    elif key == "utc_offset":
        info.utc_offset = _integer(value)
    elif key == "taskinfo:tids":
        tids = [_integer(tid) for tid in value.split(",") if tid]
        if len(tids) > limit("uftrace.tasks"):
            raise ValueError(f"{len(tids):,} tasks, {allowed('uftrace.tasks')}")
        if any(not 0 <= tid < 1 << 31 for tid in tids):
            raise ValueError("not a list of tasks")
        info.tids = list(dict.fromkeys(tids))


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"not a number: {text[:40]!r}")
    return int(text)
