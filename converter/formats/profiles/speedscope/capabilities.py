"""The capabilities of speedscope's files: slices that nest, and samples."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.profiles.capabilities import with_limited_weights, with_shown_frames
from converter.formats.profiles.speedscope.mapping import PLACE
from converter.formats.profiles.timeline import balanced, call_trees, timeline
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, Projection
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossReport


def _samples(partition: Partition, projection: Projection) -> Partition:
    """Return samples as speedscope shows them: with weights that are not negative."""
    projection.lose("sample-time-unshown", partition)
    return with_limited_weights(with_shown_frames(partition, projection), projection)


#: Of traces of other formats, before they are made sound.
_FOREIGN: Final = timeline(_samples, cpu=True)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of the format."""
    del variant
    slices = _FOREIGN.kinds[Kind.SLICE_BEGIN]
    return replace(
        _FOREIGN,
        kinds={
            **_FOREIGN.kinds,
            Kind.SLICE_BEGIN: replace(slices, optional=PLACE),
        },
        # All is done by then.
        adapters={},
        splitters={},
        utf8_only=True,
        time_order=False,
        call_stacks=False,
        rewrite=_as_call_trees,
    )


def _as_call_trees(trace: Trace, report: LossReport) -> Trace:
    return balanced(call_trees(trace, report, _FOREIGN), report)
