"""Names of functions at addresses: a format without a table of them loses those that it does not have as texts."""

import dataclasses

import numpy as np
import pytest
from support.traces.small_traces import event_class, projected, trace_of
from support.traces.target_capabilities import EVERYTHING

from converter.ir.field_classes import ArrayClass, IntegerClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable

ADDRESS = IntegerClass(64)
CLASSES = {
    event_class(Kind.FUNCTION, "function", ip=(ADDRESS, Role.FUNCTION)): "event=function field=ip",
    event_class(
        Kind.TYPED, "expire", n=ADDRESS, fn=IntegerClass(64, style=Style.SYMBOL)
    ): "event=expire field=fn",
    event_class(
        Kind.TYPED, "stack", caller=ArrayClass(IntegerClass(64, style=Style.SYMBOL), 1)
    ): "event=stack field=caller",
    event_class(Kind.TYPED, "plain", n=IntegerClass(64, style=Style.POINTER)): None,
}
PRINTED = event_class(Kind.TYPED, "start", timer=ADDRESS, function=ADDRESS)
CLASSES[dataclasses.replace(PRINTED, native=b'print fmt: "%p %ps", ...')] = (
    "event=start field=function"
)
CLASSES[dataclasses.replace(PRINTED, native=b'print fmt: "%p %p", ...')] = None
WITH = dataclasses.replace(EVERYTHING, symbols=True)
WITHOUT = dataclasses.replace(EVERYTHING, symbols=False)


def losses(of, capabilities, *, symbols=True, format="none"):
    values = tuple([5] if isinstance(field.type, ArrayClass) else 5 for field in of.fields)
    trace = trace_of([of], [(0, 1, 0, -1, values)])
    trace.format = format
    if symbols:
        trace.symbols = SymbolTable(lambda: (np.array([5], np.uint64), [b"main"]))
    return [one for one in projected(trace, capabilities)[1] if "function-names" in one]


@pytest.mark.parametrize("of", CLASSES, ids=lambda one: one.name)
def test_names_that_stay_behind_are_named(of):
    expected = CLASSES[of]
    found = [] if expected is None else [f"function-names {expected} (1)"]
    assert losses(of, WITHOUT) == found
    # With a table a role says what an address is of, else its style must; stacks become text without it.
    assert losses(of, WITH) == []
    plain = dataclasses.replace(WITH, styles=WITH.styles - {Style.SYMBOL})
    assert losses(of, plain) == (found if of.name == "expire" else [])
    assert losses(of, WITHOUT, symbols=False) == []
    # A text names functions, but has no table of them: its changed events have addresses.
    assert losses(of, WITHOUT, format="target") == found
    assert losses(of, plain, format="target") == []
