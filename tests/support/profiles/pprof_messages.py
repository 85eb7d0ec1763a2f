"""Messages of profile.proto as the `protobuf` package reads and writes them: independent of ours.

The names, numbers and types of fields are those that are published (github.com/google/pprof, proto/profile.proto).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {"int64": 3, "uint64": 4, "bool": 8, "string": 9}
#: By message: fields as "name type", with "*" for those that repeat, in the order of their numbers.
_MESSAGES = {
    "Profile": (
        "sample_type ValueType*",
        "sample Sample*",
        "mapping Mapping*",
        "location Location*",
        "function Function*",
        "string_table string*",
        "drop_frames int64",
        "keep_frames int64",
        "time_nanos int64",
        "duration_nanos int64",
        "period_type ValueType",
        "period int64",
        "comment int64*",
        "default_sample_type int64",
        "doc_url int64",
    ),
    "ValueType": ("type int64", "unit int64"),
    "Sample": ("location_id uint64*", "value int64*", "label Label*"),
    "Label": ("key int64", "str int64", "num int64", "num_unit int64"),
    "Mapping": (
        "id uint64",
        "memory_start uint64",
        "memory_limit uint64",
        "file_offset uint64",
        "filename int64",
        "build_id int64",
        "has_functions bool",
        "has_filenames bool",
        "has_line_numbers bool",
        "has_inline_frames bool",
    ),
    "Location": (
        "id uint64",
        "mapping_id uint64",
        "address uint64",
        "line Line*",
        "is_folded bool",
    ),
    "Line": ("function_id uint64", "line int64", "column int64"),
    "Function": (
        "id uint64",
        "name int64",
        "system_name int64",
        "filename int64",
        "start_line int64",
    ),
}


def _profile_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="profile.proto", package="perftools.profiles", syntax="proto3"
    )
    for message, fields in _MESSAGES.items():
        declared = file.message_type.add(name=message)
        for number, text in enumerate(fields, 1):
            name, kind = text.split()
            base = kind.rstrip("*")
            field = declared.field.add(name=name, number=number, label=3 if "*" in kind else 1)
            if base in _TYPES:
                field.type = _TYPES[base]
            else:
                field.type, field.type_name = 11, f".perftools.profiles.{base}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


#: The class of messages of profile.proto.
Profile: Any = _profile_class()


class Builder:
    """Builds a profile: texts become indexes."""

    def __init__(self) -> None:
        self.profile = Profile(string_table=[""])

    def text(self, text: str) -> int:
        """The index of a text."""
        table = self.profile.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def types(self, *types: tuple[str, str]) -> Builder:
        for name, unit in types:
            self.profile.sample_type.add(type=self.text(name), unit=self.text(unit))
        return self

    def mapping(self, filename: str, build_id: str = "", **fields: Any) -> int:
        held = self.profile.mapping
        held.add(
            id=len(held) + 1,
            filename=self.text(filename),
            build_id=self.text(build_id),
            **fields,
        )
        return len(held)

    def function(self, name: str, filename: str = "", system_name: str = "", start: int = 0) -> int:
        held = self.profile.function
        held.add(
            id=len(held) + 1,
            name=self.text(name),
            system_name=self.text(system_name),
            filename=self.text(filename),
            start_line=start,
        )
        return len(held)

    def location(
        self, address: int, *lines: tuple[int, ...], mapping: int = 0, folded: bool = False
    ) -> int:
        held = self.profile.location
        one = held.add(id=len(held) + 1, mapping_id=mapping, address=address, is_folded=folded)
        for function, line, *column in lines:
            one.line.add(function_id=function, line=line, column=column[0] if column else 0)
        return len(held)

    def sample(self, locations: list[int], values: list[int], **labels: Any) -> None:
        one = self.profile.sample.add(location_id=locations, value=values)
        for key, value in labels.items():
            label = one.label.add(key=self.text(key))
            if isinstance(value, str):
                label.str = self.text(value)
            elif isinstance(value, tuple):
                label.num, label.num_unit = value[0], self.text(value[1])
            else:
                label.num = value

    def bytes(self) -> bytes:
        return bytes(self.profile.SerializeToString())


def violations(profile: Any) -> list[str]:
    """What pprof refuses a profile for (profile.CheckValid), and references that lead to nothing."""
    strings = len(profile.string_table)
    found = []
    if not strings or profile.string_table[0]:
        found.append("the first string is not empty")
    if not profile.sample_type and profile.sample:
        found.append("samples without types")
    for table in (profile.mapping, profile.location, profile.function):
        ids = Counter(one.id for one in table)
        if 0 in ids or any(count > 1 for count in ids.values()):
            found.append("an id of 0, or twice")
    mappings = {0} | {one.id for one in profile.mapping}
    functions = {one.id for one in profile.function}
    locations = {one.id for one in profile.location}
    indexes = [profile.drop_frames, profile.keep_frames, profile.default_sample_type]
    indexes += [profile.doc_url, *profile.comment]
    for one in (*profile.sample_type, profile.period_type):
        indexes += [one.type, one.unit]
    for one in profile.mapping:
        indexes += [one.filename, one.build_id]
    for one in profile.function:
        indexes += [one.name, one.system_name, one.filename]
    for one in profile.location:
        if one.mapping_id not in mappings:
            found.append(f"location {one.id} has no mapping")
        if any(line.function_id not in functions for line in one.line):
            found.append(f"location {one.id} has no function")
    for one in profile.sample:
        if len(one.value) != len(profile.sample_type):
            found.append("a sample with another number of values than types")
        if any(id not in locations for id in one.location_id):
            found.append("a sample without a location")
        for label in one.label:
            indexes += [label.key, label.str, label.num_unit]
            if label.str and (label.num or label.num_unit):
                found.append("a label that is a text and a number")
    if any(not 0 <= index < strings for index in indexes):
        found.append("an index beyond the strings")
    return found


def stated(profile: Any) -> dict[str, Any]:
    """All that a profile says, with texts in place of indexes and tables in place of ids."""
    texts = profile.string_table
    mappings = {
        one.id: (
            one.memory_start,
            one.memory_limit,
            one.file_offset,
            texts[one.filename],
            texts[one.build_id],
            (one.has_functions, one.has_filenames, one.has_line_numbers, one.has_inline_frames),
        )
        for one in profile.mapping
    }
    functions = {
        one.id: (texts[one.name], texts[one.system_name], texts[one.filename], one.start_line)
        for one in profile.function
    }
    locations = {
        one.id: (
            mappings.get(one.mapping_id),
            one.address,
            tuple((functions[line.function_id], line.line, line.column) for line in one.line),
            one.is_folded,
        )
        for one in profile.location
    }
    return {
        "types": [(texts[one.type], texts[one.unit]) for one in profile.sample_type],
        "samples": [
            (
                [locations[id] for id in one.location_id],
                list(one.value),
                [
                    (texts[label.key], texts[label.str], label.num, texts[label.num_unit])
                    for label in one.label
                ],
            )
            for one in profile.sample
        ],
        "mappings": sorted(mappings.values()),
        "comments": [texts[index] for index in profile.comment],
        "period": (texts[profile.period_type.type], texts[profile.period_type.unit]),
        "texts": [
            texts[getattr(profile, name)]
            for name in ("drop_frames", "keep_frames", "default_sample_type", "doc_url")
        ],
        "numbers": (profile.time_nanos, profile.duration_nanos, profile.period),
    }
