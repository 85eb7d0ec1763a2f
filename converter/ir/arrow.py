"""What makes Arrow tables of a trace, found by its name: it stands on floors above, and its library is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def arrow_tables() -> Any:
    """The module `converter.arrow.tables`.

    Raises:
        ModuleNotFoundError: PyArrow is not installed.

    """
    try:
        return import_module("converter.arrow.tables")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        message = "Arrow tables need PyArrow: pip install 'traceconv[arrow]'"
        raise ModuleNotFoundError(message, name="pyarrow") from None
