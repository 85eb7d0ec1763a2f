"""Tracks as JSON, which profiles have no table of: [name, scope, owner, parent, unit, identity]."""

from __future__ import annotations

from typing import Any

from converter.formats.side_table import SideTable
from converter.ir.table_forms import text_of
from converter.ir.trace import Track, TrackScope

_MOST_CPU = (1 << 31) - 1


def track_form(track: Track) -> list[Any]:
    """Return the JSON form of a track."""
    scope = track.scope.name
    return [track.name, scope, track.owner, track.parent, track.unit, track.identity]


def tracks_of(forms: Any, tables: SideTable) -> list[Track]:
    """Return the tracks of JSON forms; one of `table_forms.DAMAGE` or LookupError if they are damaged."""
    tracks: list[Track] = []
    most = {
        TrackScope.GLOBAL: -1,
        TrackScope.PROCESS: len(tables.processes) - 1,
        TrackScope.THREAD: len(tables.threads) - 1,
        TrackScope.CPU: _MOST_CPU,
    }
    for name, scope_name, owner, parent, unit, identity in forms:
        scope = TrackScope[scope_name]
        least = -1 if scope is TrackScope.GLOBAL else 0
        if not (
            all(type(number) is int for number in (owner, parent, identity))
            and least <= owner <= most[scope]
            and -1 <= parent < len(tracks)
            and -(1 << 63) <= identity < 1 << 64
        ):
            raise ValueError("a track of nothing")
        tracks.append(Track(text_of(name), scope, owner, parent, text_of(unit), identity))
    return tracks
