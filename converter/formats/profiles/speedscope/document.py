"""The parts of a file: its frames and profiles, and where their long arrays are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from converter.errors import TraceError
from converter.formats.profiles.cut_json import closed, objects_in
from converter.formats.profiles.speedscope.mapping import OWN, POWERS, VERSION
from converter.formats.profiles.speedscope.scan import Document, MalformedError
from converter.formats.profiles.trees import FrameTable
from converter.formats.side_table import SideTable, side_table_of
from converter.ir.table_forms import DAMAGE, id_of, text_of
from converter.ir.trace import Process, Thread, Track, TrackScope
from converter.kernels.tables.strings import StringTable
from converter.limits import allowed, limit
from converter.storage.source import Source

#: The arrays of profiles that are read piece by piece, by whether the profile or its own member has them.
_LONG: Final = frozenset({"events", "samples", "weights"})
_LONG_OWN: Final = frozenset({"times", "cpus"})
_LAST_LINE: Final = (1 << 32) - 1


@dataclass(slots=True)
class Profile:
    """A profile: its short members, those that are traceconv's own, and the positions of its arrays."""

    members: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)
    #: The position after the bracket of each array.
    arrays: dict[str, int] = field(default_factory=dict)
    number: int = 0
    thread: int = -1
    track: int = -1

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return str(self.members.get("unit", "none"))

    @property
    def power(self) -> int:
        """The power of ten by which values are larger than those of the trace's clock."""
        return 0 if "unit" in self.own else POWERS.get(self.unit, 0)


class Parsed:
    """A file that is parsed but for its long arrays.

    Raises:
        TraceError: it is none of speedscope's.

    """

    def __init__(self, source: Source) -> None:
        self._path = source.name
        if source.size > limit("speedscope.document"):
            what = f"a file, which is read as a whole, of {allowed('speedscope.document')}"
            raise self._refusal(what, None, found=f"{source.size >> 20} MiB")
        text = source.read(0, source.size)
        #: Where damage is, before which the document ends.
        self.damage: int | None = None
        try:
            self._parse(text)
        except MalformedError as error:
            self.damage = error.offset
            refusal = self._refusal(str(error), error.offset, text[error.offset :][:20])
            try:
                self._parse(closed(text.decode("latin-1"), error.offset).encode("latin-1"))
            except MalformedError:
                raise refusal from None
            if not self._is_profile:
                raise refusal from None
        if not self._is_profile:
            expected = "the profiles and frames of speedscope"
            raise self._refusal(expected, None, found=self.text[:40])
        self.tables: SideTable | None = None
        self.tracks: list[Track] = []
        try:
            self._read_own()
        except DAMAGE as error:
            raise self._refusal(f"traceconv's tables of threads: {error}", None) from None

    def _parse(self, text: bytes) -> None:
        self.text = text
        self.document = Document(text)
        #: The number of objects and lists so far, but those of events.
        self._objects = 0
        #: All members but frames, profiles and traceconv's own.
        self.members: dict[str, Any] = {}
        self.frames: list[dict[str, Any]] = []
        self.profiles: list[Profile] = []
        self.own: dict[str, Any] = {}
        for name, start, end in self.document.members(self.document.start()):
            self._read_member(self._name(name), start, end)

    @property
    def _is_profile(self) -> bool:
        return bool(self.profiles or self.frames) or "$schema" in self.members

    def _refusal(self, expected: str, offset: int | None, found: object = None) -> TraceError:
        return TraceError(
            format="speedscope", path=self._path, offset=offset, expected=expected, found=found
        )

    def _read_member(self, name: str, start: int, end: int) -> None:
        if name == "profiles":
            elements = self.document.elements(start)
            self._add_objects(len(elements))
            for first, _ in elements:
                profile = self._profile(first)
                profile.number = len(self.profiles)
                self.profiles.append(profile)
        elif name == "shared":
            shared = {
                self._name(one): (first, last) for one, first, last in self.document.members(start)
            }
            frames = self._value(*shared["frames"]) if "frames" in shared else []
            if not isinstance(frames, list) or not all(isinstance(one, dict) for one in frames):
                raise self._refusal("an array of frames", shared["frames"][0])
            self.frames = frames
            others = {one: self._value(*span) for one, span in shared.items() if one != "frames"}
            if others:
                self.members["shared"] = others
        elif name == OWN:
            own = self._value(start, end)
            self.own = own if isinstance(own, dict) and own.get("version") == VERSION else {}
        else:
            self.members[name] = self._value(start, end)

    def _profile(self, at: int) -> Profile:
        profile = Profile()
        for raw, start, end in self.document.members(at):
            name = self._name(raw)
            if name in _LONG:
                profile.arrays[name] = self._array(start)
            elif name == OWN and self.text[start : start + 1] == b"{":
                for inner, first, last in self.document.members(start):
                    if self._name(inner) in _LONG_OWN:
                        profile.arrays[self._name(inner)] = self._array(first)
                    else:
                        profile.own[self._name(inner)] = self._value(first, last)
            else:
                profile.members[name] = self._value(start, end)
        return profile

    def _array(self, at: int) -> int:
        if self.text[at : at + 1] != b"[":
            raise MalformedError("an array", at)
        return at + 1

    def _add_objects(self, count: int) -> None:
        self._objects += count
        if self._objects > limit("speedscope.objects"):
            raise self._refusal(allowed("speedscope.objects"), None, found=f"{self._objects:,}")

    def _value(self, start: int, end: int) -> Any:
        self._add_objects(objects_in(self.text, start, end))
        try:
            return json.loads(self.text[start:end].decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise self._refusal(f"a value of JSON: {error}", start) from None

    def _name(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace")
        return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text

    def _read_own(self) -> None:
        """Read the tables, and place each profile on its thread or track."""
        if not self.own:
            name = self.members.get("name")
            table = SideTable(processes=[Process(0, name if isinstance(name, str) else "")])
            for profile in self.profiles:
                called = profile.members.get("name")
                profile.thread = len(table.threads)
                table.threads.append(
                    Thread(profile.number + 1, 0, called if isinstance(called, str) else "")
                )
            self.tables = table
            return
        self.tables = side_table_of(self.own, numbered=False)
        for name, scope, of, parent, unit, identity in self.own["tracks"]:
            owner = -1 if of == -1 else id_of(of)
            if not -1 <= parent < len(self.tracks):
                raise ValueError("a track inside of none")
            track = Track(
                text_of(name), TrackScope(scope), owner, parent, text_of(unit), id_of(identity)
            )
            owners = {
                TrackScope.THREAD: len(self.tables.threads),
                TrackScope.PROCESS: len(self.tables.processes),
            }
            if owner >= owners.get(track.scope, 1 << 31):
                raise ValueError("a track of none")
            self.tracks.append(track)
        for profile in self.profiles:
            for name, count in (("thread", len(self.tables.threads)), ("track", len(self.tracks))):
                number = profile.own.get(name, -1)
                if not isinstance(number, int) or not -1 <= number < count:
                    raise ValueError(f"a profile of no {name}")
                setattr(profile, name, number)


def frame_table(frames: Sequence[dict[str, Any]], strings: StringTable) -> FrameTable:
    """Return the frames of a file as columns."""
    lines = [one.get("line") for one in frames]
    numbers = [one if isinstance(one, int) and 0 <= one <= _LAST_LINE else 0 for one in lines]
    return FrameTable.of(
        np.array([_interned(strings, one.get("name")) for one in frames], np.int32),
        source=np.array([_interned(strings, one.get("file")) for one in frames], np.int32),
        line=np.array(numbers, np.uint32),
    )


def _interned(strings: StringTable, value: Any) -> int:
    if value is None:
        return 0
    return strings.intern(
        (value if isinstance(value, str) else str(value)).encode("utf-8", "replace")
    )
