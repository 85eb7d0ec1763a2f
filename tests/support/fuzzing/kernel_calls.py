"""The calls that Python makes of kernels while a trace is read and written, to be made again with other bytes."""

from __future__ import annotations

import importlib
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from support.fuzzing.mutation import INTERESTING

from converter.errors import TraceError

ROOT = Path(__file__).resolve().parents[3]
#: What a kernel may say of arguments that make no sense.
REFUSALS = (TraceError, ValueError, IndexError, OverflowError, MemoryError)
#: So many calls are made behind the one that is changed.
FOLLOWING = 12
#: Larger arrays are room for results, of which calls of all recordings share one of a size.
LARGE = 512 << 10


@dataclass(frozen=True, slots=True)
class Made:
    """Stands for the object that a step has made."""

    step: int


@dataclass(slots=True)
class Step:
    """A call: of a function or class, or of a method of what an earlier step has made."""

    called: Callable[..., Any] | Made
    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    #: Steps whose objects it uses.
    uses: set[int] = field(default_factory=set)


def kernels() -> set[str]:
    """The names of the compiled modules, all of them imported."""
    paths = (ROOT / "converter").rglob("*.pyx")
    names = {str(path.relative_to(ROOT).with_suffix("")).replace("/", ".") for path in paths}
    for name in names:
        importlib.import_module(name)
    return names


class Recording:
    """Calls of kernels in their order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        #: What Python keeps for later recordings is used there as it is.
        self.is_over = False
        self._lock = threading.Lock()
        self._slices: dict[int, list[int]] = {}

    def call(self, called: Any, name: str, arguments: tuple[Any, ...], named: Any) -> Any:
        """Make a call, and keep what it was given."""
        given = arguments
        arguments, named = _listed(arguments), _listed(named)
        step = Step(called if not isinstance(called, Proxy) else Made(_step(called)), name, (), {})
        step.arguments, step.named = (_kept(given, step.uses, self) for given in (arguments, named))
        if isinstance(step.called, Made):
            step.uses.add(step.called.step)
        with self._lock:
            number = len(self.steps)
            self.steps.append(step)
        real = getattr(_real(called), name) if name else _real(called)
        bare = _bare(arguments)
        result = real(*bare, **_bare(named))
        stand_ins = {id(_real(item)): item for _, item in _places(arguments) if type(item) is Proxy}
        # A kernel may have filled a list.
        for before, after in zip(given, bare, strict=True):
            if isinstance(before, list):
                before[:] = [stand_ins.get(id(item), item) for item in after]
        return self.watched(result, number)

    def watched(self, value: Any, number: int) -> Any:
        """What a step has made, whose calls are kept, too, where it is a kernel's."""
        return Proxy(value, number, self) if _is_kept(type(value)) else value

    @cached_property
    def inputs(self) -> list[tuple[int, list[int | str], Any]]:
        """Buffers and arrays that are given: the number of the step, the place in its arguments, and what it is."""
        return [
            (number, path, value)
            for number, step in enumerate(self.steps)
            for path, value in _places((step.arguments, step.named))
            if isinstance(value, bytes | np.ndarray) and len(value)
        ]

    def kernels(self) -> set[str]:
        """The kernels that are called."""
        found = {step.called.__module__ for step in self.steps if not isinstance(step.called, Made)}
        return found & KERNELS

    def named(self, number: int) -> str:
        """What a step calls."""
        step = self.steps[number]
        if not isinstance(step.called, Made):
            return f"{step.called.__module__}.{step.called.__name__}"
        return f"{self.named(step.called.step)}.{step.name}"

    def again(self, number: int, path: list[int | str], value: Any) -> None:
        """Make the call of this number with another argument, those that it needs, and some behind it."""
        made: dict[int, Any] = {}
        for at in self._slice(number):
            step = self.steps[at]
            arguments, named = step.arguments, step.named
            if at == number:
                arguments, named = _with((arguments, named), path, value)
            called: Any = step.called
            try:
                if isinstance(called, Made):
                    called = made[called.step]
                if step.name:
                    called = getattr(called, step.name)
                made[at] = called(*_given(arguments, made), **_given(named, made))
            except REFUSALS:
                # Also what is no longer there, as of strings that others have interned meanwhile.
                return

    def _slice(self, number: int) -> list[int]:
        """The steps that a step needs, itself, and those behind it that use the same objects."""
        if number not in self._slices:
            objects: set[int] = set()
            chosen: set[int] = set()
            self._add(number, objects, chosen)
            behind = 0
            for at in range(number + 1, len(self.steps)):
                if behind < FOLLOWING and self.steps[at].uses & {*objects, number}:
                    behind += 1
                    self._add(at, objects, chosen)
            self._slices[number] = sorted(chosen)
        return self._slices[number]

    def _add(self, number: int, objects: set[int], chosen: set[int]) -> None:
        waiting = [number]
        while waiting:
            at = waiting.pop()
            if at in chosen:
                continue
            chosen.add(at)
            for used in self.steps[at].uses:
                objects.add(used)
                waiting.append(used)
                # What has changed the object before.
                waiting += [
                    earlier for earlier in range(used + 1, at) if used in self.steps[earlier].uses
                ]


class Proxy:
    """Stands before an object of a kernel, and keeps the calls of its methods."""

    __slots__ = ("_number", "_of", "_recording")

    def __init__(self, of: Any, number: int, recording: Recording) -> None:
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_recording", recording)

    def __getattr__(self, name: str) -> Any:
        value = getattr(_real(self), name)
        recording = object.__getattribute__(self, "_recording")
        if not callable(value):
            return value
        if recording.is_over:
            return lambda *arguments, **named: value(*_bare(arguments), **_bare(named))
        return lambda *arguments, **named: recording.call(self, name, arguments, named)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__getattr__("__setattr__")(name, value)

    def __getitem__(self, key: Any) -> Any:
        return self.__getattr__("__getitem__")(key)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.__getattr__("__call__")(*arguments, **named)

    def __len__(self) -> int:
        return len(_real(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(_real(self))

    def __contains__(self, key: Any) -> bool:
        return key in _real(self)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Keep the calls that all modules of Python make of kernels.

    Tables and what their columns are computed by are left out: classes of Python are derived from them.
    """
    recording = Recording()
    replaced: list[tuple[ModuleType, str, Any]] = []
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] != "converter":
            continue
        for attribute, value in [*vars(module).items()]:
            if getattr(value, "__module__", None) not in KERNELS or not callable(value):
                continue
            if isinstance(value, type):
                if not _is_kept(value) or (name, attribute) in BARE:
                    continue
                stand_in = _stand_in(value, recording)
            else:
                stand_in = _kept_calls(value, recording)
            replaced.append((module, attribute, value))
            setattr(module, attribute, stand_in)
    try:
        yield recording
    finally:
        recording.is_over = True
        for module, attribute, value in replaced:
            setattr(module, attribute, value)


def _is_kept(of: type) -> bool:
    return of.__module__ in KERNELS and of.__module__ not in TABLES and of.__name__ not in HELD


def _kept_calls(function: Any, recording: Recording) -> Callable[..., Any]:
    return lambda *arguments, **named: recording.call(function, "", arguments, named)


def _stand_in(of: type, recording: Recording) -> type:
    class Calls(type):
        def __call__(cls, *arguments: Any, **named: Any) -> Any:
            return recording.call(of, "", arguments, named)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(_real(value), of)

        def __getattr__(cls, name: str) -> Any:
            value = getattr(of, name)
            if not callable(value):
                return value
            return lambda this, *arguments, **named: getattr(this, name)(*arguments, **named)

    return Calls(of.__name__, (), {})


def changed(value: Any, rng: random.Random) -> Any:
    """A buffer with a few changes; that of an array has as many elements."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iub":
            return value
        flat = np.array(value, copy=True, order="C")
        if flat.nbytes:
            _change(memoryview(flat.reshape(-1).view(np.uint8)), rng, value.itemsize)
        return flat
    data = bytearray(value)
    _change(memoryview(data), rng, 1)
    match rng.randrange(12):
        case 0:
            del data[rng.randrange(len(data)) :]
        case 1:
            at = rng.randrange(len(data))
            data[at:at] = data[rng.randrange(len(data)) :][: 1 << rng.randrange(8)]
    return bytes(data)


def _change(data: memoryview, rng: random.Random, item: int) -> None:
    for _ in range(1 + (rng.getrandbits(2) & rng.getrandbits(2))):
        at = rng.randrange(len(data))
        sort = rng.getrandbits(2)
        if sort == 0:
            data[at] ^= 1 << rng.getrandbits(3)
        elif sort == 1 and item == 1:
            data[at] = rng.getrandbits(8)
        else:
            width = item if item > 1 else 1 << rng.getrandbits(2)
            at -= at % item
            order = "little" if item > 1 or rng.getrandbits(1) else "big"
            number = rng.choice(INTERESTING) & (1 << 8 * width) - 1
            piece = number.to_bytes(width, order)[: len(data) - at]
            data[at : at + len(piece)] = piece


def _real(value: Any) -> Any:
    return object.__getattribute__(value, "_of") if type(value) is Proxy else value


def _step(value: Proxy) -> int:
    number: int = object.__getattribute__(value, "_number")
    return number


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with what it is made of changed."""
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, tuple):
        items = [_mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return change(value)


def _listed(value: Any) -> Any:
    return _mapped(value, lambda item: list(item) if isinstance(item, Iterator) else item)


def _bare(value: Any) -> Any:
    return _mapped(value, _real)


def _kept(value: Any, uses: set[int], recording: Recording) -> Any:
    """Arguments as they are before the call."""

    def keep(item: Any) -> Any:
        if type(item) is Proxy:
            if object.__getattribute__(item, "_recording") is not recording:
                return _real(item)
            uses.add(_step(item))
            return Made(_step(item))
        if isinstance(item, memoryview | bytearray):
            return bytes(item)
        if not isinstance(item, np.ndarray):
            return item
        if item.nbytes < LARGE:
            return item.copy()
        key = item.dtype.str, item.shape
        if key not in _ROOM:
            _ROOM[key] = item.copy()
        return _ROOM[key]

    return _mapped(value, keep)


def _given(value: Any, made: dict[int, Any]) -> Any:
    return _mapped(value, lambda item: made[item.step] if isinstance(item, Made) else item)


def _places(value: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[list[int | str], Any]]:
    if isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _places(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    else:
        yield [*path], value


def _with(value: Any, path: list[int | str], other: Any) -> Any:
    if not path:
        return other
    if isinstance(value, dict):
        return value | {path[0]: _with(value[path[0]], path[1:], other)}
    items = [*value]
    items[int(path[0])] = _with(items[int(path[0])], path[1:], other)
    if isinstance(value, tuple):
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return items


KERNELS = kernels()
#: Of what columns are computed by, and of what plans are carried out with.
TABLES = {
    "converter.formats.ftrace.event_format.record_tables",
    "converter.ir.tables",
    "converter.projection.engine.in_place",
    "converter.projection.engine.planned",
    "converter.projection.engine.rows",
}
#: What other kernels find in batches, or are given by tables, where nothing can stand before it.
HELD = {"DenseUnion", "LocatedRows", "Locations", "Segments"}
#: What modules make to give it to tables.
BARE = {("converter.formats.ftrace.lines.exactness", "StringTable")}
_ROOM: dict[tuple[str, tuple[int, ...]], Any] = {}
#: Kernels of which no call can be kept, and why; all others have to be reached by `tests.fuzz_kernels`.
UNCALLED = {
    **dict.fromkeys(TABLES, "classes of Python are derived from its classes"),
    "converter.formats.ftrace.lines.scan.flag_letters": "line_scan, which is called, calls it",
    "converter.formats.ftrace.lines.scan.line_prefix": "line_scan, which is called, calls it",
    "converter.formats.lttng_legacy.reading.scan_records": "the base of scan, which is called",
    "converter.formats.uftrace.writing.emit_programs": "the base of emit, which is called",
    "converter.ir.locations": "its objects are held by batches",
    "converter.kernels.batches.columns": "its buffers are parts of programs that are compiled once",
    "converter.kernels.batches.gather": "its objects are held by batches",
    "converter.kernels.batches.programs": "the base of emitters, which are called",
    "converter.kernels.io.output": "the memory of emitters, which are called",
}
