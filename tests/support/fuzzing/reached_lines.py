"""Which lines of Python functions are reached, by what Python says of each."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class Reached:
    """The lines of the modules in a folder that are reached while this is on."""

    def __init__(self, folder: Path) -> None:
        #: Where the modules are.
        self._folder = str(folder)
        #: By the identity of code, which stays as long as it is here: the lines that are not reached yet.
        self._left: dict[int, tuple[CodeType, set[int]]] = {}

    def start(self) -> None:
        """Note lines from here on, on every thread.

        Python stops by itself where noting one is a call too deep.
        """
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        """Note no more."""
        threading.settrace(None)  # type: ignore[arg-type]
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if id(code) not in self._left:
            inside = code.co_filename.startswith(self._folder)
            self._left[id(code)] = (code, _lines(code) if inside else set())
        # Code of which every line was met costs no more.
        return self._step if self._left[id(code)][1] else None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        left = self._left[id(frame.f_code)][1]
        left.discard(frame.f_lineno)
        return self._step if left else None

    def lines(self, path: Path) -> dict[int, bool]:
        """The lines of a module's functions, and whether each is reached."""
        found: dict[int, bool] = {}
        left = {
            (code.co_qualname, code.co_firstlineno): lines
            for code, lines in self._left.values()
            if code.co_filename == str(path)
        }
        waiting = [compile(path.read_text(), str(path), "exec")]
        while waiting:
            code = waiting.pop()
            waiting += (each for each in code.co_consts if isinstance(each, CodeType))
            if code.co_flags & 2:  # of a function, not of a module or class, which importing runs
                lines = _lines(code)
                rest = left.get((code.co_qualname, code.co_firstlineno), lines)
                found |= {line: line not in rest for line in lines}
        return found


def _lines(code: CodeType) -> set[int]:
    # The first line is that of `def`, which calls do not meet.
    found = {line for _, _, line in code.co_lines() if line is not None}
    return found - {code.co_firstlineno}
