"""Hints for inputs that no format recognises: what they may be, and what to do with them."""

from __future__ import annotations

import os
import re
from typing import Final

from converter.errors.advice import advice
from converter.storage.source import Source

#: The most traces in a directory that a hint names.
_MOST_NAMED: Final = 4
#: The hint for an unknown beginning.
_MOST_BYTES: Final = 16

_SPACE = rb"[ \t\r\n]*"

#: First bytes of files that are no traces of a known format, and advice. The first match counts.
_BEGINNINGS: Final[tuple[tuple[re.Pattern[bytes], str], ...]] = tuple(
    (re.compile(pattern, re.DOTALL | re.MULTILINE), text)
    for pattern, text in (
        (
            rb"\A\0+\Z",
            "it begins with nothing but zeros, as a file does that was not written to its end",
        ),
        (
            rb"\A(\xc1\x1f\xfc\xc1|\xc1\xfc\x1f\xc1)",
            "it is a CTF data stream: name the directory that has it and its file `metadata`",
        ),
        (
            rb"\A(/\* CTF 1|\x57\x1d\xd1\x75|\x75\xd1\x1d\x57|\x1e" + _SPACE + rb"\{)",
            "it is the metadata of a CTF trace: name the directory that it is in",
        ),
        (
            rb"\AFtrace!",
            "it is the file `info` of a uftrace recording: name the directory that it is in",
        ),
        (rb"\A(7z\xbc\xaf|\x1f\x9d|Rar!)", "it is compressed: unpack it first"),
        (rb"\APK\x03\x04", "it is an archive in another: unpack that first"),
        (
            rb"\A(\xff\xfe|\xfe\xff|\0{0,3}[\[{]\0{1,3}[^\0])",
            "it is text in UTF-16 or UTF-32: make it UTF-8 first (`iconv -f UTF-16 -t UTF-8`)",
        ),
        (rb"\A(\xef\xbb\xbf)?" + _SPACE + rb"\Z", "it begins with nothing but white space"),
        (rb"\A(\n\0)+\Z", "it has no more than empty packets of a Perfetto trace"),
        (
            rb"\A" + _SPACE + rb"\{[^\n]*\"ph\"" + _SPACE + rb":",
            "it is events of a Chrome trace without the array around them: `jq -s .` puts them into one",
        ),
        (rb"\A\x7fELF", "it is a program or library (ELF), not what was recorded of one"),
        (rb"\ASQLite format 3\0", "it is an SQLite database"),
        (
            rb"\A"
            + _SPACE
            + rb'\{.*"shared"'
            + _SPACE
            + rb":"
            + _SPACE
            + rb"\{"
            + _SPACE
            + rb'"frames"',
            "it looks like a file of speedscope without its `$schema`: `-f speedscope` reads it",
        ),
        (
            rb"\A" + _SPACE + rb'\{.*"selfSize"' + _SPACE + rb":",
            "it is a profile of V8's memory (.heapprofile), whose samples are of its heap and not of time",
        ),
        (
            rb"\A" + _SPACE + rb'\{"snapshot"',
            "it is a snapshot of V8's heap, which holds no events",
        ),
        (
            rb"\A(heap profile:|--- ?(heap|contention|mutex|threads))",
            "it is a profile of gperftools in its old form: `pprof -proto` makes a profile.proto of it",
        ),
        (
            rb"\A" + _SPACE + rb"\{" + _SPACE + rb'("|\Z|\})',
            'it is JSON without "traceEvents", where Chrome\'s traces have their events',
        ),
        (
            rb"\A" + _SPACE + rb"\[",
            'it is a JSON array, but its elements are no events ("ph", "ts") of a Chrome trace',
        ),
        (
            rb"\A" + _SPACE + rb"<(!DOCTYPE|html)",
            "it is a web page: save the trace that is in it as a file of its own",
        ),
        (
            rb"\A" + _SPACE + rb"packet" + _SPACE + rb"\{",
            "it is the text form of a Perfetto trace: `protoc --encode perfetto.protos.Trace` makes the trace of it",
        ),
        (
            rb"\Aname: \w+$.*^ID: \d+$",
            "it is a format file of kernel events, which describes events and holds none",
        ),
        (
            rb"^# event histogram$",
            "it is a histogram of kernel events (tracefs/events/*/*/hist), which counts events and holds none",
        ),
        (
            rb"\AVERSION \d{8}$",
            "it is a log of mmiotrace, whose accesses to devices are no events of a task or CPU",
        ),
        (
            rb'^@?[0-9A-Fa-f]{3,4}0? +\d+\.\d+ .*["$]',
            "it is a file of AIX trace templates: name the trace, and this as its option trcfmt (-O trcfmt=FILE)",
        ),
    )
)


def hint(source: Source, head: bytes) -> str:
    """Return what an input may be and what helps, or its first bytes, as the end of a sentence.

    Args:
        source: the input.
        head: the beginning of a file; of a directory, the names in it, as formats are shown them.

    """
    if source.is_directory:
        return _in_directory(os.fsdecode(head.removeprefix(b"dir:")).split("\n"))
    for beginning, text in _BEGINNINGS:
        if beginning.search(head):
            return text
    how = advice("the argument `format`", "-f")
    first = repr(head[:_MOST_BYTES]).removeprefix("b")
    return f"it begins with {first}; {how} names the format"


def _in_directory(names: list[str]) -> str:
    if names == [""]:
        return "the directory is empty"
    inner = sorted(
        {
            name.rpartition("/")[0]
            for name in names
            if name.endswith(("/metadata", "/info")) and "/" in name
        }
    )
    if inner:
        return f"there are traces in it, of which one can be named: {_listed(inner)}"
    return (
        "none of the files that a trace's directory has is in it: `metadata` (CTF), `info` (uftrace), "
        "`metadata_0` and the like (LTTng 0.x); a trace that is a file is named itself"
    )


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
