"""Limits on what an input can make a reader do: all in one table, changed by `--limit NAME=VALUE` and `limits=`.

Bounds of a format's own numbers, and of a kernel's fixed tables, are not in it: nobody could raise them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, TypeVar

_Item = TypeVar("_Item")


class Limit(NamedTuple):
    """A limit: its default, and its largest value, which recursion or a kernel allows."""

    default: int
    #: The unit; "bytes" are shown, and may be given, as 64M.
    unit: str
    guards: str
    most: int = 1 << 62


#: By name: of all inputs, and after a dot those of one format's reader.
LIMITS: Final[Mapping[str, Limit]] = {
    "warnings": Limit(1000, "warnings", "of an input; the last says that there is more"),
    "holes": Limit(1000, "places", "of a file or stream where reading goes on after damage"),
    "unpacked": Limit(1 << 28, "bytes", "that a compressed input may become in any case"),
    "unpacked-ratio": Limit(1000, "times its size", "that a larger one may become"),
    "wrappers": Limit(2, "wrappers", "around each other that are taken off"),
    "zstd-window": Limit(1 << 27, "bytes", "of memory to unpack zstd", 1 << 31),
    "xz-memory": Limit(1 << 28, "bytes", "of memory to unpack xz"),
    "members": Limit(1_000_000, "files", "in an archive"),
    "tar.header": Limit(
        1 << 20, "bytes", "of what a tar archive says of a member beside its header"
    ),
    "classes": Limit(1 << 15, "classes", "of events in a trace"),
    "listed-files": Limit(1 << 21, "files", "in a directory that are looked at to recognise it"),
    "folder-files": Limit(1000, "files", "in a folder that is looked through for traces"),
    "folder-depth": Limit(64, "levels", "of folders in a folder elsewhere", 200),
    "aix.template-steps": Limit(100_000, "steps", "of a template for an entry"),
    "aix.template-depth": Limit(80, "levels", "of descriptors in each other", 80),
    "aix.template-calls": Limit(10, "levels", "of subroutines in each other", 10),
    "aix.template-nesting": Limit(24, "levels", "of braces or parentheses", 24),
    "aix.template-text": Limit(1 << 20, "bytes", "that a template makes of an entry"),
    "aix.template-file": Limit(1 << 26, "bytes", "of a file of templates"),
    "aix.declarations": Limit(1 << 27, "bytes", "of a recording's own declarations"),
    "aix.report-classes": Limit(16_384, "classes", "of events in a trcrpt report"),
    "chrome.searched": Limit(100_000, "objects", "that are looked into after damage"),
    "cpuprofile.profile": Limit(1 << 28, "bytes", "of a profile that is read as a whole"),
    "cpuprofile.objects": Limit(1 << 23, "objects", "and lists in a profile"),
    "cpuprofile.hits": Limit(1 << 24, "hits", "of the nodes of a profile without samples"),
    "ctf.files": Limit(1 << 16, "files", "in a trace"),
    "ctf.metadata": Limit(1 << 25, "bytes", "of metadata"),
    "ctf.nesting": Limit(48, "levels", "of types in each other", 48),
    "ctf.fields": Limit(1 << 14, "fields", "of a structure"),
    "ctf.all-fields": Limit(1 << 18, "fields", "of all structures"),
    "ctf.aliases": Limit(1 << 14, "fields", "that aliases expand to"),
    "ctf.operations": Limit(1 << 17, "operations", "to decode a record", 1 << 24),
    "folded.line": Limit(1 << 26, "bytes", "of a line"),
    "folded.comments": Limit(10_000, "comments", "that are kept of a file"),
    "fxt.suspects": Limit(100, "records", "in which others are looked for"),
    "gecko.profile": Limit(1 << 29, "bytes", "of a profile, which is read as a whole"),
    "gecko.objects": Limit(1 << 23, "objects", "and lists in a profile"),
    "ir.record": Limit(1 << 30, "bytes", "of a record", (1 << 31) - 1),
    "ir.unpacked": Limit(1 << 28, "bytes", "that compressed records become", (1 << 31) - 1),
    "ir.events": Limit(1 << 24, "events", "of a batch", (1 << 31) - 1),
    "ir.equal": Limit(1 << 26, "numbers", "that one represents"),
    "ir.symbols": Limit(1 << 24, "symbols", "of a trace", (1 << 31) - 1),
    "ir.length": Limit(1 << 26, "elements", "of an array of fixed length"),
    "lttng_legacy.files": Limit(1 << 17, "files", "in a trace"),
    "lttng_legacy.fields": Limit(1 << 19, "fields", "of all markers"),
    "lttng_legacy.declarations": Limit(1 << 20, "declarations", "of markers"),
    "lttng_legacy.event": Limit(1 << 26, "bytes", "of an event", 1 << 28),
    "perf.header": Limit(1 << 28, "bytes", "of what a recording says beside its records"),
    "perf.events": Limit(1 << 14, "events", "that are sampled"),
    "perf.ids": Limit(1 << 22, "ids", "of all sampled events"),
    "perf.round": Limit(1 << 28, "bytes", "of records that wait for earlier ones"),
    "perf.mappings": Limit(1 << 22, "mappings", "of all processes"),
    "perf.symbols": Limit(1 << 28, "bytes", "of a table of functions in another file"),
    "perf.auxtrace": Limit(1 << 28, "bytes", "of a hardware trace in one record", (1 << 31) - 1),
    "perfetto.packet": Limit(1 << 28, "bytes", "of a packet", 1 << 30),
    "perfetto.inflated": Limit(1 << 26, "bytes", "that compressed packets become", 1 << 30),
    "perfetto.nesting": Limit(32, "levels", "of annotations or messages in each other", 32),
    "perfetto.tracks": Limit(64, "levels", "of tracks in each other", 200),
    "perfetto.frames": Limit(1 << 11, "frames", "of a call stack", 1 << 24),
    "perfetto.symbols": Limit(1 << 20, "symbols", "of the kernel"),
    "pprof.profile": Limit(1 << 28, "bytes", "of a profile that is read as a whole"),
    "pprof.records": Limit(
        1 << 23, "records", "of a profile: its samples, strings, locations and so on"
    ),
    "pprof.types": Limit(1 << 10, "types", "of samples"),
    "pprof.sample": Limit(1 << 20, "bytes", "of a sample", 1 << 28),
    "pprof.frames": Limit(1 << 14, "frames", "of a call stack", 1 << 24),
    "simpleperf.file": Limit(1 << 28, "bytes", "of a file, which is read as a whole"),
    "simpleperf.records": Limit(
        1 << 23, "records", "of a file: its samples, threads, switches and so on"
    ),
    "simpleperf.sample": Limit(1 << 22, "bytes", "of a sample", 1 << 28),
    "speedscope.document": Limit(1 << 30, "bytes", "of a file, which is read as a whole"),
    "speedscope.objects": Limit(1 << 20, "objects", "and lists in a file beside its events"),
    "trace_cmd.section": Limit(1 << 28, "bytes", "of an unpacked section or chunk", 1 << 31),
    "trace_cmd.cpus": Limit(1 << 16, "CPUs", "of a recording", 1 << 20),
    "trace_cmd.options": Limit(4096, "sections", "of options"),
    "trace_cmd.format-levels": Limit(200, "levels", "of a print format's expressions", 200),
    "trace_cmd.format-nodes": Limit(50_000, "nodes", "of a print format"),
    "uftrace.text": Limit(1 << 28, "bytes", "of a text file"),
    "uftrace.tasks": Limit(1 << 20, "tasks", "of a recording"),
    "uftrace.ancestors": Limit(64, "ancestors", "whose session a task may have"),
    "uftrace.layout": Limit(1 << 25, "steps", "to lay out the memory of all sessions"),
    "uftrace.replaced": Limit(64, "times", "that libraries take the place of others"),
    "uftrace.event": Limit(1 << 26, "bytes", "of an event", 1 << 30),
    "uftrace.pattern-states": Limit(1000, "states", "of a pattern"),
    "uftrace.pattern-repeats": Limit(64, "times", "that a part of a pattern is repeated"),
    "uftrace.pattern-nesting": Limit(100, "levels", "of groups or templates", 100),
}

#: Names that limits had in earlier versions.
_FORMER: Final[Mapping[str, str]] = {"chrome.profile": "gecko.profile"}
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
#: The limits that were changed, for everything read in this context.
_changed: ContextVar[Mapping[str, int]] = ContextVar("limits")
_NONE: Final[Mapping[str, int]] = {}


def limit(name: str) -> int:
    """Return the value of a limit in this context."""
    changed = _changed.get(_NONE)
    return changed[name] if name in changed else LIMITS[name].default


def allowed(name: str) -> str:
    """Return the expectation for an error message: the value of a limit, and how to raise it."""
    found = limit(name)
    text = f"at most {shown(name, found)}"
    if found >= LIMITS[name].most:
        return text
    # The package of errors imports this module.
    from converter.errors.advice import advice

    more = _example(name)
    value = more if more.isdigit() else repr(more)
    how = advice(f"limits={{{name!r}: {value}}}", f"--limit {name}={more}")
    return f"{text} ({how} allows more)"


def changed_limits() -> Mapping[str, int]:
    """Return the limits that differ from their defaults, for other processes."""
    return _changed.get(_NONE)


@contextmanager
def limited(values: Mapping[str, int | str] | None) -> Iterator[None]:
    """Apply limits to everything opened or read in this context, in addition to those changed before.

    Raises:
        ValueError: there is no such limit, or it cannot have this value.

    """
    if not values:
        yield
        return
    before = changed_limits()
    given = {_FORMER.get(name, name): parse_limit(name, value) for name, value in values.items()}
    _changed.set({**before, **given})
    try:
        yield
    finally:
        _changed.set(before)


def parse_limit(name: str, value: int | str) -> int:
    """Parse the value of a limit: a number; for bytes also 64M (of 1024 KiB) or 2G.

    Raises:
        ValueError: there is no such limit, or it cannot have this value.

    """
    name = _FORMER.get(name, name)
    if name not in LIMITS:
        from difflib import get_close_matches  # slow to import, and mistakes are rare

        close = get_close_matches(name, LIMITS, 1)
        suggestion = f" (did you mean {close[0]!r}?)" if close else ""
        from converter.errors.advice import advice

        where = advice("converter.limits.LIMITS has all", "--limit help lists all")
        raise ValueError(f"there is no limit {name!r}{suggestion}; {where}")
    found = LIMITS[name]
    if isinstance(value, str):
        text = value.upper().removesuffix("B").removesuffix("I") if found.unit == "bytes" else value
        digits = text.rstrip("KMGT") if found.unit == "bytes" else text
        unit = text[len(digits) :]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20) or unit not in _UNITS:
            expected = "a number of bytes, as 64M" if found.unit == "bytes" else "a number"
            raise ValueError(f"limit {name}: expected {expected}, found {value!r}")
        value = int(digits) << _UNITS[unit]
    if not 1 <= value <= found.most:
        most = f"1 to {shown(name, found.most)}" if found.most < 1 << 62 else "at least 1"
        raise ValueError(f"limit {name}: expected {most}, found {shown(name, value)}")
    return value


def shown(name: str, value: int) -> str:
    """Format a value of a limit with its unit."""
    if LIMITS[name].unit != "bytes":
        return f"{value:,} {LIMITS[name].unit}"
    for unit, bits in reversed(_UNITS.items()):
        if value >= 1 << bits and value % (1 << bits) == 0:
            return f"{value >> bits:,} {f'{unit}iB' if unit else 'bytes'}"
    return f"{value:,} bytes"


def _example(name: str) -> str:
    """Return twice the current value, as an option's value."""
    value = min(2 * limit(name), LIMITS[name].most)
    if LIMITS[name].unit == "bytes" and value % (1 << 10) == 0:
        return shown(name, value).replace(" ", "").replace(",", "").removesuffix("iB")
    return str(value)


def iterated(make: Callable[[], Iterator[_Item]], values: Mapping[str, int]) -> Iterator[_Item]:
    """Return an iterator that always runs with these limits, wherever its next item is requested."""
    with limited(values):
        items = make()
    while True:
        with limited(values):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
        del item
