"""The capabilities of Chrome JSON, and the adapters that fit events to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.chrome.mapping import (
    CATEGORY,
    ID,
    IDENTIFIED,
    NAME,
    OPTIONAL,
    PAYLOAD,
    SWITCH_FIELDS,
    WAKEUP_TID,
    WAKEUPS,
)
from converter.formats.chrome.phases import PHASES
from converter.formats.chrome.splitting import by_bind_point, by_phase, by_series, by_waker
from converter.formats.chrome.times import Scale
from converter.formats.json_values.narrowing import narrowed
from converter.ir.columns import string_ids
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Field
from converter.ir.field_classes import (
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowMatching
from converter.ir.tables import ComputedColumn
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.scheduling.sched_conventions import argument_role, with_linux_state
from converter.projection.domain.scheduling.state_bits import report_unknown_kernel
from converter.projection.domain.scheduling.task_names import with_tasks
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossReport
from converter.projection.passes.clock_rates import rate_text
from converter.projection.timeline_fields import DURATION, JSON_TEXT

#: Perfetto's importer ends at a line of a switch on a higher CPU.
_LAST_CPU: Final = 4095


def _as_switch(partition: Partition, projection: Projection) -> Partition:
    """Give switches a Linux state number, as viewers show it, and names of tasks."""
    if not projection.is_own:
        partition = with_tasks(partition, projection)
    cpus = ComputedColumn(_are_no_lines, (projection.lazy_cpus_of(partition),), partition)
    if not projection.is_nowhere(cpus):
        rows = np.asarray(cpus())
        projection.lose("switch-without-cpu-unshown", partition, rows=rows, limit=_LAST_CPU)
    report_unknown_kernel(partition, projection)
    return narrowed(with_linux_state(partition), projection)


def _are_no_lines(_partition: Partition, cpus: NDArray[Any]) -> NDArray[np.bool_]:
    return (cpus < 0) | (cpus > _LAST_CPU)


def _as_counter(partition: Partition, projection: Projection) -> Partition:
    """Report counters that have no number: importers count them as errors."""
    partition = narrowed(partition, projection)
    if projection.is_own or any(
        isinstance(field.type, IntegerClass | FloatClass) and field.role is not Role.ID
        for field in partition.event_class.fields
    ):
        return partition
    is_shown = np.zeros(len(partition), np.bool_)
    strings = projection.source.strings
    for index, field in enumerate(partition.event_class.fields):
        if isinstance(field.type, StringClass) and field.role not in (Role.NAME, Role.CATEGORY):
            texts = string_ids(partition.table.column(index), strings)
            is_shown |= map_distinct(texts, lambda id: _is_number(strings.text(id))) != 0
    projection.lose("counter-without-number", partition, rows=~is_shown)
    return partition


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kinds() -> Mapping[Kind, KindSupport]:
    kinds: dict[Kind, KindSupport] = {}
    for kind in PHASES:
        fields: tuple[Field, ...] = (NAME, CATEGORY)
        required: frozenset[int] = frozenset()
        if kind in IDENTIFIED:
            fields += (ID,)
            required |= {Role.ID}
        if kind is Kind.SLICE_COMPLETE:
            fields += (DURATION,)
            required |= {Role.DURATION}
        kinds[kind] = KindSupport(
            fields, OPTIONAL, required, cpu=True, numeric_values=kind is Kind.COUNTER
        )
    kinds[Kind.STATE] = KindSupport(
        (NAME, CATEGORY, DURATION),
        tuple(field for field in OPTIONAL if field.role is not Role.ID),
        frozenset({Role.DURATION}),
        cpu=True,
    )
    kinds[Kind.SCHED_SWITCH] = KindSupport(
        SWITCH_FIELDS, (), frozenset({Role.PREV_TID, Role.NEXT_TID}), cpu=True
    )
    for kind in WAKEUPS:
        kinds[kind] = KindSupport(
            (WAKEUP_TID,),
            (),
            frozenset({Role.TID}),
            argument_role=argument_role,
            cpu=True,
            named=True,
        )
    kinds[Kind.NATIVE] = KindSupport(
        (PAYLOAD,), (), frozenset({Role.PAYLOAD}), arguments=False, thread=False, timed=False
    )
    return kinds


def _with_rounded_times(trace: Trace, report: LossReport) -> Trace:
    """Report a clock whose times viewers round otherwise than those of the source."""
    rate = trace.clock.ticks_per_second
    if rate is not None and (trace.semantics.rounded_rate or not Scale.of_rate(rate).is_shown):
        report.add("times-rounded-by-viewers", rate=rate_text(rate))
    return trace


_KINDS = _kinds()

CAPABILITIES = Capabilities(
    kinds=_KINDS,
    integers=frozenset({(64, True), (64, False)}),
    floats=frozenset({64}),
    media_types=frozenset({JSON_TEXT.media_type}),
    styles=frozenset({Style.HEXADECIMAL}),
    wide_styles=frozenset({Style.HEXADECIMAL}),
    arrays=True,
    structures=True,
    utf8_only=True,
    negative_times=True,
    late_ends=True,
    max_depth=512,
    shown_id_bits=32,
    zero_is_main=True,
    threadless=False,
    unknown_tasks=False,
    exits_by_switch=True,
    epoch=True,
    shows_epoch=False,
    environment=True,
    shows_environment=False,
    rewrite=_with_rounded_times,
    adapters={
        **dict.fromkeys(_KINDS, narrowed),
        Kind.SCHED_SWITCH: _as_switch,
        Kind.COUNTER: _as_counter,
    },
    ends=EndMatching.NAME,
    named_ends=True,
    complete_first=True,
    flow_matching=FlowMatching.NAME_AND_ID,
    flow_fields=frozenset({Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE}),
    splitters={
        **{kind: by_phase for kind, phases in PHASES.items() if len(phases) > 1},
        Kind.COUNTER: by_series,
        Kind.FLOW_END: by_bind_point,
        **dict.fromkeys(WAKEUPS, by_waker),
    },
)


def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - there is one
    """Return the capabilities of Chrome JSON."""
    return CAPABILITIES
