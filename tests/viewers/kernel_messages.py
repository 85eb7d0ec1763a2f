"""Which fields of a kernel event its message in Perfetto's package has, and so the importer shows."""

from __future__ import annotations

from functools import cache
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from viewers.projected import Event

from converter.formats.perfetto.tracepoints import PREFIXED_SYSTEMS
from converter.ir.events import EventClass, Field
from converter.ir.kinds import Kind, Role
from converter.projection.domain.linux_tracepoints import MEANINGS

_CONTEXT = {Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT, Role.CONTEXT}
#: Of switches the importer shows all fields, whether they are there or not.
_ALWAYS: dict[str, dict[str, Any]] = {"sched_switch": {"prev_prio": 0, "next_prio": 0}}


@cache
def message_fields(system: str, name: str) -> dict[str, Role] | None:
    """The fields of the message of an event, each with what it means; None where the package has no message."""
    events = perfetto_trace_pb2.DESCRIPTOR.message_types_by_name["FtraceEvent"].fields_by_name
    found = events.get(f"{system}_{name}" if system in PREFIXED_SYSTEMS else name)
    if found is None or found.message_type is None:
        return None
    roles = MEANINGS[system, name].roles if (system, name) in MEANINGS else {}
    return {field.name: roles.get(field.name, Role.NONE) for field in found.message_type.fields}


@cache
def shown_fields(event_class: EventClass) -> tuple[tuple[str, int], ...]:
    """Names under which fields are shown, each with the index of the field; those that no message has are not."""
    fields = list(enumerate(event_class.fields))
    message = message_of(event_class)
    if message is None:
        return tuple((field.name, i) for i, field in fields if field.role is not Role.CONTEXT_FLAGS)
    of_role = {role: name for name, role in message.items() if role is not Role.NONE}
    roles = {field.role for _, field in fields}
    shown: dict[str, int] = {}
    for i, field in fields:
        name = of_role.get(field.role)
        if name is None and field.name in message:
            # What has a meaning is only where that is.
            name = field.name if of_name(message, field, roles) else None
        if name is not None and name not in shown:
            shown[name] = i
    return tuple(shown.items())


def unshown_fields(event_class: EventClass) -> set[str]:
    """Names of the fields that are not shown, without those that only say where an event was."""
    shown = {i for _, i in shown_fields(event_class)}
    return {
        field.name
        for i, field in enumerate(event_class.fields)
        if i not in shown and field.role not in _CONTEXT
    }


def of_name(message: dict[str, Role], field: Field, roles: set[Role]) -> bool:
    """Whether the field of the message with this field's name is free for it."""
    role = message[field.name]
    return role is Role.NONE or role not in roles


def message_of(event_class: EventClass) -> dict[str, Role] | None:
    """The fields of the message that a class is written as; None: it is described in the file (generic)."""
    if event_class.native == b"GenericEventDescriptor":
        return None
    message = message_fields(event_class.category, event_class.name)
    own = {field.name for field in event_class.fields if field.role not in _CONTEXT}
    if message is None or (
        event_class.kind is Kind.TYPED and own and message and not own & set(message)
    ):
        return None
    return message


def shown_name(event_class: EventClass) -> str:
    """What an event is called: those that are described and not of ftrace with their provider in front."""
    of_ftrace = any(field.role is Role.CONTEXT_FLAGS for field in event_class.fields)
    if message_of(event_class) is not None or of_ftrace or event_class.category in ("", "ftrace"):
        return event_class.name
    return f"{event_class.category}:{event_class.name}"


def shown_values(event: Event) -> dict[str, tuple[Field | None, Any]]:
    """The fields that are shown, by their names there: the field where it is one, and the value."""
    shown: dict[str, tuple[Field | None, Any]] = {
        name: (None, value) for name, value in _ALWAYS.get(event.event_class.name, {}).items()
    }
    for name, i in shown_fields(event.event_class):
        shown[name] = event.event_class.fields[i], event.values[i]
    return shown
