"""What chrome://tracing, speedscope and KernelShark show of a file, in words, for the table of kinds."""

from __future__ import annotations

from pathlib import Path

from support.viewers import catapult, kernelshark, speedscope
from viewers.test_catapult import scheduling

#: What rows of Catapult's model are.
ROWS = {"counters": "counter", "flows": "arrow", "objects": "object", "samples": "sample"}


def in_catapult(path: Path) -> set[str]:
    """What chrome://tracing imports; nothing of a file that it refuses."""
    found = catapult.imported(path)
    if found.error is not None:
        return set()
    rows = found.rows
    shown = {what for name, what in ROWS.items() if rows[name]}
    shown |= {"scheduling"} if scheduling(found) else set()
    shown |= {"slice" if duration else "instant" for *_, duration, _, _ in rows["slices"]}
    shown |= {"async slice" if duration else "async instant" for *_, duration, _ in rows["asyncs"]}
    return shown | ({"instant"} if rows["instants"] else set())


def in_speedscope(path: Path) -> set[str]:
    """Whether speedscope has call trees."""
    (found,) = speedscope.imported_all([path])
    return {"slice"} if any(one.depth for one in found.profiles) else set()


def in_kernelshark(path: Path) -> set[str]:
    """Whether KernelShark lists events, and lost ones."""
    entries = kernelshark.listing_of(path).entries
    return {"lost events" if entry.missed else "event" for entry in entries}


#: Those whose columns stay as they are where they are not installed.
ABSENT = {
    in_catapult: catapult.is_absent(),
    in_speedscope: speedscope.is_absent(),
    in_kernelshark: kernelshark.is_absent(),
}
