"""Names of arguments that importers do not show as they are: those with brackets, and some with dots."""

from __future__ import annotations

from collections.abc import Iterator

from converter.formats.perfetto import mapping
from converter.formats.perfetto.annotations import path_of
from converter.formats.perfetto.json_sidecar import was_json
from converter.ir.field_classes import ArrayClass, FieldClass, StructureClass
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

_AS_UNDERSCORE = str.maketrans(".[]", "___")


def report_names(partition: Partition, projection: Projection) -> Partition:
    """Report names in which importers show ``_`` for dots and brackets; the file has them as they are."""
    if projection.source.format == "perfetto" and not was_json(projection.source):
        # Those of a Perfetto trace are shown so there, too.
        return partition
    for field in partition.event_class.fields:
        if field.role is Role.NONE and field not in mapping.PARTS:
            for name in dict.fromkeys(_names_of(field.name, field.type)):
                if path_of(name) is None:
                    shown = name.translate(_AS_UNDERSCORE)
                    projection.lose("argument-name-shown-as", partition, field=name, shown=shown)
    return partition


def _names_of(name: str, field_class: FieldClass) -> Iterator[str]:
    """Yield a name and those inside."""
    yield name
    while isinstance(field_class, ArrayClass):
        field_class = field_class.element
    if isinstance(field_class, StructureClass):
        for member in field_class.members:
            yield from _names_of(member.name, member.type)
