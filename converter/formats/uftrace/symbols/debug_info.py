"""The .dbg files: specifications of arguments and source locations by address, derived from DWARF (utils/dwarf.c).

# path name: /usr/bin/x
E: enum Color {RED,GREEN=5}
F: 24e9 area
L: 17 shapes.cc
A: @fparg1/64,fparg2/32
R: @retval/f64
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class FunctionInfo:
    """The function at an address: specifications without the "@", and its location, such as "shapes.cc:17"."""

    arguments: str = ""
    returned: str = ""
    source: str = ""


@dataclass(slots=True)
class DebugInfo:
    """A .dbg file: functions by relative address, and definitions of enumerations ("enum Color {RED,GREEN=5}")."""

    functions: dict[int, FunctionInfo] = field(default_factory=dict)
    enums: list[str] = field(default_factory=list)

    def source(self, address: int) -> str:
        """Return the source location of the function at an address, empty where it is not known."""
        function = self.functions.get(address)
        return "" if function is None else function.source


def parse_debug_info(text: bytes) -> DebugInfo:
    """Parse a .dbg file; invalid lines are skipped, as in uftrace."""
    info = DebugInfo()
    function = FunctionInfo()
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        key, value = line[:2], line[3:]
        if key == "F:":
            function = FunctionInfo()
            address = value.partition(" ")[0]
            try:
                info.functions[int(address, 16)] = function
            except ValueError:
                continue
        elif key == "A:":
            function.arguments = value.removeprefix("@")
        elif key == "R:":
            function.returned = value.removeprefix("@")
        elif key == "L:":
            line_number, _, name = value.partition(" ")
            function.source = f"{name}:{line_number}"
        elif key == "E:":
            info.enums.append(value)
    return info
