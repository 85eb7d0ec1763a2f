"""Names of units: those of profile.proto's producers, and ours."""

from __future__ import annotations

from typing import Final

#: The spelling of profiles of each of our units.
UNITS: Final = {"ns": "nanoseconds"}
_OURS: Final = {spelled: unit for unit, spelled in UNITS.items()}


def unit_read(name: str) -> str:
    """Return the unit of a weight by its spelling in profiles."""
    return _OURS.get(name, name)


def unit_written(name: str) -> str:
    """Return the spelling of a unit in profiles."""
    return UNITS.get(name, name)


#: What samples are called whose source has no name for them, by their unit.
_TYPES: Final = {"ns": "time", "count": "samples", "bytes": "space"}


def type_name(unit: str) -> str:
    """Return the name of a type of samples by its unit."""
    return _TYPES.get(unit, unit or "samples")
