"""The table of all losses that a conversion can report: for each code its kind, the users that it affects, and its
sentence.

Codes are stable: programs compare them. A code is never reused for something else. `docs/losses.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import LossCode
from converter.projection.loss_codes.fields import FIELDS
from converter.projection.loss_codes.places import PLACES
from converter.projection.loss_codes.scheduling import SCHEDULING
from converter.projection.loss_codes.timeline import TIMELINE
from converter.projection.loss_codes.whole_trace import WHOLE_TRACE

LOSS_CODES: Final[Mapping[str, LossCode]] = {
    **SCHEDULING,
    **TIMELINE,
    **PLACES,
    **FIELDS,
    **WHOLE_TRACE,
}
