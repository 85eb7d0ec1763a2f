"""Converts log entries, samples and field names of other formats to the shape of Perfetto's packets."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from converter.formats.perfetto import mapping
from converter.ir.columns import string_ids
from converter.ir.display.text import is_unicode
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass, Field, class_label
from converter.ir.field_classes import FieldClass, IntegerClass, StringClass
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import fit_name

#: AndroidLogPriority.PRIO_INFO (android_log_constants.proto).
_INFO = np.int32(4)


def as_log_entries(partition: Partition, projection: Projection) -> Partition:
    """Use the name of a class as the tag of its entries; those without a priority get level Info, which is shown."""
    declared = {field.role: field for field in mapping.log_fields()}
    added: list[tuple[Field, Any]] = []
    if partition.event_class.index_of(Role.CATEGORY) is None and partition.event_class.name:
        tag = projection.constant(class_label(partition.event_class), len(partition))
        added.append((declared[Role.CATEGORY], tag))
    if partition.event_class.index_of(Role.PRIORITY) is None:
        added.append((declared[Role.PRIORITY], np.broadcast_to(_INFO, (len(partition),))))
    for field, column in added:
        projection.lose("log-field-added", partition, field=field.name)
        partition = partition.with_argument(field, column)
    return partition


def with_unicode_names(partition: Partition, projection: Projection) -> Partition:
    """Convert names of fields to UTF-8, which messages and their descriptors need."""
    event_class = partition.event_class
    if is_unicode("".join([field.name for field in event_class.fields])):
        return partition
    for field in [field for field in event_class.fields if not is_unicode(field.name)]:
        shown = fit_name(field.name, projection.capabilities)
        projection.lose("field-renamed", partition, field=field.name, shown=shown)

    def new_class() -> EventClass:
        names = [fit_name(field.name, projection.capabilities) for field in event_class.fields]
        fields = zip(event_class.fields, names, strict=True)
        return replace(event_class, fields=tuple(replace(one, name=name) for one, name in fields))

    return partition.rewritten(
        partition.derive(("valid names",), new_class), partition.lazy_columns()
    )


#: The fields of typed events that are IPv4 addresses: the number that their bytes are in memory (little-endian).
_IPV4_FIELDS: Final = frozenset({"saddr", "daddr"})
_IPV4: Final = re.compile(rb"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})")


def with_numeric_addresses(partition: Partition, projection: Projection) -> Partition:
    """Convert texts of IPv4 addresses to the numbers that messages have for them; others remain."""
    strings = projection.source.strings
    for index, field in enumerate(partition.event_class.fields):
        if field.name not in _IPV4_FIELDS or not isinstance(field.type, StringClass):
            continue
        ids, which = distinct(string_ids(partition.table.column(index), strings))
        numbers = [_ipv4_number(strings[id]) for id in ids.tolist()]
        if None in numbers:
            continue
        projection.lose("address-as-number", partition, field=field.name)
        columns: list[Any] = partition.lazy_columns()
        columns[index] = np.array(numbers, np.uint32)[which]
        event_class = partition.derive(
            ("number", index), partial(_with_type, partition.event_class, index, IntegerClass(32))
        )
        partition = partition.rewritten(event_class, columns)
    return partition


def _ipv4_number(text: bytes) -> int | None:
    found = _IPV4.fullmatch(text)
    parts = [int(part) for part in found.groups()] if found else []
    return int.from_bytes(bytes(parts), "little") if parts and max(parts) <= 0xFF else None


def _with_type(event_class: EventClass, index: int, field_class: FieldClass) -> EventClass:
    fields = list(event_class.fields)
    fields[index] = replace(fields[index], type=field_class)
    return replace(event_class, fields=tuple(fields))
