r"""The lines of perf script (tools/perf/builtin-script.c), with the header that ``--header`` prints.

# ========
# captured on    : Fri Nov 27 16:02:03 2026
# hostname : vm
# os release : 6.18.44
# arch : x86_64
# nrcpus online : 2
# cmdline : /usr/bin/perf record -g ./burn
# ========
#
burn 30540 [000] 48803.553540:    2000000 cpu-clock:
        ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])
                    1198 leaf+0x1f (/usr/local/bin/burn)

perf 30831 [000] 48817.752624: sched:sched_stat_runtime: comm=perf pid=30831 runtime=785919 [ns]
"""

from __future__ import annotations

import re
from typing import Final

from converter.formats.perf.script.recognition import TIME

_ENTRY: Final = re.compile(rb"^# ([a-z][a-z ]{1,30}?)[ ]*:[ ](.{0,4096}?)\r?$", re.MULTILINE)
#: The names that entries of the header have in a trace's environment.
_NAMES: Final = {
    "hostname": "hostname",
    "os release": "kernel_release",
    "arch": "machine",
    "nrcpus online": "cpus",
    "cmdline": "command_line",
    "cpudesc": "cpu_description",
    "perf version": "tracer_version",
    "captured on": "captured_on",
}
_REMARKS: Final = re.compile(rb"(?:#[^\n]*\n|[ \t\r]*\n)+")


def environment(head: bytes) -> dict[str, str | int]:
    """Return what the header says about the machine and the recording."""
    found: dict[str, str | int] = {}
    for name, value in _ENTRY.findall(head):
        key = _NAMES.get(name.decode("ascii"))
        text = value.decode("utf-8", "surrogateescape").strip()
        if key is None or not text or key in found:
            continue
        is_number = key == "cpus" and text.isdecimal() and len(text) < 6
        found[key] = int(text) if is_number else text
    if found:
        found["tracer_name"] = "perf"
    return found


def header(head: bytes) -> bytes:
    """Return the remarks at the start of a text."""
    found = _REMARKS.match(head)
    return found[0] if found is not None else b""


def is_timed(head: bytes) -> bool:
    """Return True if the lines of samples have times."""
    return TIME.search(head) is not None


def variant(head: bytes) -> str:
    """Return the variant of a text: "ns" if the fraction of its first time has nine digits."""
    found = TIME.search(head)
    return "ns" if found is not None and len(found["fraction"]) == 9 else ""
