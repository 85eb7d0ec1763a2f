"""The prescan of a file: its byte order, its clock, its providers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from construct import ConstructError

from converter.errors import TraceError, TraceWarning, note
from converter.formats.fxt.layout import Layout, layout
from converter.formats.fxt.mapping import PROVIDER_ID, PROVIDER_NAME, is_exact_rate
from converter.formats.fxt.reading.resync import Search
from converter.formats.fxt.reading.scan import Survey
from converter.formats.fxt.record_types import (
    MAGIC,
    MAX_RECORD_BYTES,
    ByteOrder,
    MetadataType,
    RecordType,
)
from converter.ir.trace import MOST_FROM_1970, ClockDomain, known_epoch
from converter.storage.source import Source

_WINDOW = 1 << 20
_NANOSECONDS = 1_000_000_000
_MAX_TIME = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Prescan:
    """The results of the prescan."""

    order: ByteOrder
    clock: ClockDomain
    sidecar: dict[str, Any]
    warnings: list[TraceWarning]
    #: Perfetto's importer does not compute exact nanoseconds of all its times.
    has_rounded_rate: bool
    #: The time of the last event in ticks of the clock; None if that takes reading the events.
    last: int | None


def prescan(source: Source) -> Prescan:
    """Scan the headers of a file.

    Raises:
        TraceError: the file does not start with the magic number record.

    """
    head = source.read(0, 8)
    if head not in (MAGIC, MAGIC[::-1]):
        raise TraceError(
            format="fxt",
            path=source.name,
            offset=0,
            field="magic number record",
            expected=f"{MAGIC.hex()} or the reverse",
            found=head.hex() or "an empty file",
        )
    order: ByteOrder = "little" if head == MAGIC else "big"
    found = Survey(big_endian=order == "big")
    _pass(source, found, order)
    declared = layout(order)
    warnings: list[TraceWarning] = []
    rate = _common_rate(found)
    if rate is None:
        rate = _NANOSECONDS
        note(
            warnings,
            TraceWarning(
                format="fxt",
                path=source.name,
                field="ticks per second",
                message="the providers' clocks have no common rate within 64 bits: times are rounded to nanoseconds",
                is_damage=False,
            ),
        )
    sidecar: dict[str, Any] = {}
    providers = [_provider(source, declared, offset) for offset in found.providers]
    if providers and providers != [[PROVIDER_ID, PROVIDER_NAME]]:
        sidecar["providers"] = providers
    epoch_ns = None
    if found.extended_initialization >= 0:
        record = _record(source, declared, found.extended_initialization)
        base_ticks, *more = record.more
        if more:
            # floor(base_time - base_ticks / rate): the writer's ceiling reverses it.
            nanoseconds = more[0] - _ceiling(base_ticks, record.ticks_per_second)
            epoch_ns = known_epoch(nanoseconds)
            if epoch_ns is None:
                note(warnings, _ignored_epoch(source, found.extended_initialization, nanoseconds))
        if epoch_ns is not None:
            del more[0]
        if base_ticks or more or epoch_ns is None:
            sidecar["initialization"] = [base_ticks, *more]
    clock = ClockDomain("ns", Fraction(rate), epoch_ns)
    rounded = any(latest is not None and not is_exact_rate(own) for own, latest in found.rates)
    used = [latest for _, latest in found.rates if latest is not None]
    last = used[0] if len(used) == 1 and used[0] * _NANOSECONDS // rate <= _MAX_TIME else None
    return Prescan(order, clock, {"fxt": sidecar} if sidecar else {}, warnings, rounded, last)


def _ignored_epoch(source: Source, offset: int, nanoseconds: int) -> TraceWarning:
    return TraceWarning(
        format="fxt",
        path=source.name,
        offset=offset,
        field="base time",
        message="ignored: times start at the clock's zero",
        expected=MOST_FROM_1970,
        found=f"{nanoseconds // _NANOSECONDS:,} s",
        is_damage=False,
    )


def _ceiling(ticks: int, ticks_per_second: int) -> int:
    """Return a number of ticks in nanoseconds, rounded up."""
    return -(-ticks * _NANOSECONDS // (ticks_per_second or _NANOSECONDS))


def _pass(source: Source, found: Survey, order: ByteOrder) -> None:
    window = bytearray(min(_WINDOW, source.size))
    search = Search(source, order)
    offset = 0
    while source.size - offset >= 8:
        size = source.read_into(offset, window)
        if size < 8:
            return
        passed = found.feed(memoryview(window)[:size], offset)
        if passed == 0:
            # Larger than the window: a large record, or damage.
            header = int.from_bytes(window[:8], order)
            passed = ((header >> 4) & 0xFFFFFFFF) * 8
            if header & 15 != RecordType.LARGE or not size < passed <= source.size - offset:
                following = search.next(offset + 8, cut_off=passed > size)
                if following is None:
                    return
                passed = following - offset
        offset += passed


def _common_rate(found: Survey) -> int | None:
    """Return a rate at which every provider's times are whole ticks within 64 bits, or None."""
    rates = found.rates
    used = [(rate, latest) for rate, latest in rates if latest is not None]
    if not used:
        # No times at all: the first rate in the file, if there is any.
        return rates[1][0] if len(rates) > 1 else rates[0][0]
    common = lcm(*(rate for rate, _ in used))
    if found.too_many_rates or common > _MAX_TIME:
        return None
    for rate, latest in used:
        # What is beyond nanoseconds, too, is not a time at all.
        is_time = latest * _NANOSECONDS // rate <= _MAX_TIME
        if latest * (common // rate) > _MAX_TIME and (is_time or len(used) > 1):
            return None
    return common


def _provider(source: Source, declared: Layout, offset: int) -> list[Any]:
    """Return ID and name of the provider whose first metadata record is at `offset`; a section has no name."""
    record = _record(source, declared, offset)
    name = record.name if record.header.metadata_type == MetadataType.PROVIDER_INFO else None
    return [record.header.id, name]


def _record(source: Source, declared: Layout, offset: int) -> Any:
    data = source.read(offset, MAX_RECORD_BYTES)
    try:
        return declared.parse(data)
    except ConstructError as error:
        raise TraceError(
            "a malformed metadata record", format="fxt", path=source.name, offset=offset
        ) from error
