"""Functions whose names mean something to uftrace, in libraries of their own.

uftrace takes a task that has called `longjmp` to be where `setjmp` was called, one that has called `execve` to be in no
function, and what a child process does to be inside of its parent's `fork`: of functions in the session's map. Slices
that are called so are just slices. They are in libraries that the program opens later, whose names mean nothing. Values
are described by the map alone, so that a library whose functions have some is in it, too, with other names; it is
mapped up to its first function, and uftrace looks for what is at an address after that in the opened library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename
from typing import Final, NamedTuple

from converter.formats.uftrace.layout import FIRST_SYMBOL
from converter.formats.uftrace.mapping import EXECUTING, FORKING, JUMPING, SETTING_JUMP
from converter.formats.uftrace.writing.symbols import (
    ShownSymbol,
    debug_text,
    symbols_text,
)
from converter.formats.uftrace.writing.tasks import end_of_symbols, map_line
from converter.storage.sink import Sink


class Library(NamedTuple):
    """A library: its path, its address in memory, and the names of functions in it."""

    path: str
    base: int
    names: tuple[str, ...]


#: By number, from 1 on. Their functions have the same numbers, and addresses relative to the base, as in the program.
LIBRARIES: Final = (
    Library("/traceconv/calls", 1 << 44, (*EXECUTING, *SETTING_JUMP, *JUMPING)),
    Library("/traceconv/forks", 2 << 44, FORKING),
)
_FORKS: Final = len(LIBRARIES)
_VALUES: Final = "-values"


class OpenedLibraries:
    """The libraries that have functions. With `has_forked` forks mean what uftrace takes them for."""

    def __init__(self, symbols: Sequence[ShownSymbol], *, has_forked: bool) -> None:
        self._symbols = symbols
        self._numbers = sorted({symbol.library for symbol in symbols} - {0})
        self._mapped = {_FORKS} if has_forked else set()

    @property
    def opened(self) -> list[Library]:
        """The libraries that are opened later."""
        return [LIBRARIES[number - 1] for number in self._numbers if number not in self._mapped]

    def map_lines(self) -> Iterator[str]:
        """Yield the lines of the session's map."""
        for number in self._numbers:
            library = LIBRARIES[number - 1]
            if number in self._mapped:
                end = library.base + end_of_symbols(len(self._symbols))
                yield map_line(library.base, end, library.path)
            elif self._has_values(number):
                end = library.base + FIRST_SYMBOL
                yield map_line(library.base, end, f"{library.path}{_VALUES}")

    def write(self, sink: Sink) -> None:
        """Write the symbols, and what is known of them."""
        for number in self._numbers:
            path = LIBRARIES[number - 1].path
            paths = [(path, b"")]
            if number not in self._mapped and self._has_values(number):
                paths.append((f"{path}{_VALUES}", b"()"))
            for one, suffix in paths:
                with sink.create(f"{basename(one)}.sym") as output:
                    for part in symbols_text(self._symbols, one, number, suffix):
                        output.write(part)
                if self._has_details(number):
                    with sink.create(f"{basename(one)}.dbg") as output:
                        for part in debug_text(self._symbols, one, number, suffix):
                            output.write(part)

    def _has_values(self, number: int) -> bool:
        return any(
            symbol.arguments or symbol.returned
            for symbol in self._symbols
            if symbol.library == number
        )

    def _has_details(self, number: int) -> bool:
        return any(symbol.has_details for symbol in self._symbols if symbol.library == number)
