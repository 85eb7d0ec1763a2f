"""The data of packets about a trace that importers show, but tables do not hold: only this format's writer keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from converter.formats.perfetto.layout import PacketField
from converter.formats.perfetto.reading.tracks import SCOPE_DESCRIPTION
from converter.formats.perfetto.system_info import SYSTEM, UTSNAME

#: Packets that only describe how a recording was made (not the tables of statistics).
BOOKKEEPING: Final = frozenset(
    {
        "trace_config",
        "ftrace_stats",
        "trace_stats",
        "synchronization_marker",
        "trigger",
        "perfetto_metatrace",
        "service_event",
        "extension_descriptor",
        "ui_state",
        "trace_uuid",
        "clone_snapshot_trigger",
        "trace_provenance",
        "recovered_trace_info",
        "for_testing",
    }
)
_ATTRIBUTES_OF_THIS_PACKAGE: Final = b"traceconv."

_OF_SYSTEM: Final = (
    "device_tree_compatibles",
    *(name for name in SYSTEM if name.startswith(("android_", "timezone_"))),
)
_OF_TREE: Final = ("uid", "is_kthread", "process_start_from_boot")
_OF_PROCESS: Final = ("process_labels", "legacy_sort_index", "chrome_process_type")
_OF_THREAD: Final = ("legacy_sort_index", "chrome_thread_type")
_OF_TRACK: Final = ("sibling_order_rank", "process_ordering", "thread_ordering", "child_ordering")


def shown_fields(kind: PacketField, message: dict[str, Any]) -> Iterator[str]:
    """Yield the names of a packet's fields that importers show in addition to the content of the tables."""
    match kind:
        case PacketField.PROCESS_TREE:
            for process in message.get("processes", ()):
                yield from _present("process_tree", process, _OF_TREE)
        case PacketField.PROCESS_DESCRIPTOR:
            yield from _present("process_descriptor", message, _OF_PROCESS)
        case PacketField.THREAD_DESCRIPTOR:
            yield from _present("thread_descriptor", message, _OF_THREAD)
        case PacketField.SYSTEM_INFO:
            yield from _present("system_info", message.get("utsname", {}), tuple(UTSNAME))
            yield from _present("system_info", message, _OF_SYSTEM)
        case PacketField.TRACK_DESCRIPTOR:
            yield from _of_descriptor(message)
        case PacketField.TRACE_ATTRIBUTES:
            for attribute in message.get("attribute", ()):
                if not attribute.get("key", b"").startswith(_ATTRIBUTES_OF_THIS_PACKAGE):
                    yield "trace_attributes"


def _of_descriptor(message: dict[str, Any]) -> Iterator[str]:
    name = "track_descriptor"
    yield from _present(name, message, _OF_TRACK)
    yield from _present(f"{name}.process", message.get("process", {}), _OF_PROCESS)
    yield from _present(f"{name}.thread", message.get("thread", {}), _OF_THREAD)
    yield from _present(f"{name}.counter", message.get("counter", {}), ("y_axis_share_key",))
    yield from (
        f"{name}.{field}" for field in ("chrome_process", "chrome_thread") if message.get(field)
    )
    description = message.get("description", b"")
    if description and SCOPE_DESCRIPTION.fullmatch(description) is None:
        yield f"{name}.description"


def _present(name: str, message: dict[str, Any], fields: tuple[str, ...]) -> Iterator[str]:
    return (f"{name}.{field}" for field in fields if field in message)
