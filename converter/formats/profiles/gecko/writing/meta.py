"""The members of the document beside its threads: `meta`, with categories and schemas, and libraries."""

from __future__ import annotations

from typing import Any, Final

from converter.formats.profiles.gecko.layout import (
    COLORS,
    DEFAULT_CATEGORY,
    DEFAULT_COLOR,
    RAW_VERSION,
    VERSION,
)
from converter.ir.trace import Trace

_PRODUCT: Final = "traceconv"
#: Facts of an environment by the members of `meta` that have them.
_FACTS: Final = {"oscpu": ("kernel_release", "sysname"), "CPUName": ("cpu_model",)}


class Categories:
    """Categories by number: those that the source's profile had, and new ones."""

    def __init__(self, meta: dict[str, Any]) -> None:
        listed = meta.get("categories")
        self.forms: list[dict[str, Any]] = [
            one if isinstance(one, dict) else {"name": str(one), "color": DEFAULT_COLOR}
            for one in (listed if isinstance(listed, list) else [])
        ]
        for form in self.forms:
            form.setdefault("color", DEFAULT_COLOR)
            form.setdefault("subcategories", [DEFAULT_CATEGORY])
        self._numbers: dict[str, int] = {}
        for number, form in enumerate(self.forms):
            self._numbers.setdefault(str(form.get("name")), number)
        #: The number of the category of events without one; -1 if there are none.
        self.uncategorized = -1
        if not any(form["color"] == DEFAULT_COLOR for form in self.forms):
            # Profilers need a category of this colour.
            self.number("")

    def number(self, name: str) -> int:
        """Return the number of a category, which is added if it is new; an empty name is none."""
        if not name:
            if self.uncategorized < 0:
                self.uncategorized = self._add(DEFAULT_CATEGORY, DEFAULT_COLOR)
            return self.uncategorized
        number = self._numbers.get(name)
        if number is None:
            color = COLORS[len(self.forms) % len(COLORS)]
            number = self._numbers[name] = self._add(name, color)
        return number

    def _add(self, name: str, color: str) -> int:
        self.forms.append({"name": name, "color": color, "subcategories": [DEFAULT_CATEGORY]})
        return len(self.forms) - 1


def meta_form(
    trace: Trace,
    kept: dict[str, Any],
    categories: Categories,
    schemas: list[dict[str, Any]],
    start_ns: int,
) -> dict[str, Any]:
    """Return `meta`: what the source's profile has, else what profilers need."""
    usual: dict[str, Any] = {
        "interval": 1,
        "startTime": start_ns / 1_000_000,
        "processType": 0,
        "product": _PRODUCT,
        "stackwalk": 1,
        "debug": False,
        "presymbolicated": True,
        "symbolicated": True,
        "usesOnlyOneStackType": True,
        "doesNotUseFrameImplementation": True,
        "sourceCodeIsNotOnSearchfox": True,
        "extensions": {"length": 0, "id": [], "name": [], "baseURL": []},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
    }
    for member, facts in _FACTS.items():
        found = [str(trace.environment[one]) for one in facts if one in trace.environment]
        if found:
            usual[member] = found[0]
    own = kept.get("markerSchema")
    old = [_of_version(one) for one in (own if isinstance(own, list) else [])]
    return {
        **usual,
        **kept,
        "version": RAW_VERSION,
        "preprocessedProfileVersion": VERSION,
        "categories": categories.forms,
        "markerSchema": [*old, *schemas],
        "sampleUnits": usual["sampleUnits"],
    }


def _of_version(schema: Any) -> Any:
    """Return a schema of a newer profile in the form of the version that is written."""
    if (
        not isinstance(schema, dict)
        or "data" in schema
        or not isinstance(schema.get("fields"), list)
    ):
        return schema
    older = {name: one for name, one in schema.items() if name not in ("fields", "description")}
    older["data"] = list(schema["fields"])
    if isinstance(schema.get("description"), str):
        older["data"].append({"label": "Description", "value": schema["description"]})
    return older


def lib_form(name: str) -> dict[str, Any]:
    """Return a library of which only the name is known."""
    return {
        "arch": "",
        "name": name.rpartition("/")[2] or name,
        "path": name,
        "debugName": name.rpartition("/")[2] or name,
        "debugPath": name,
        "breakpadId": "",
        "codeId": None,
    }
