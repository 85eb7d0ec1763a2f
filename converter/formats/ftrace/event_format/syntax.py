r"""The text of tracefs `events/<system>/<event>/format` and `events/header_page`.

Both are written by the kernel (`kernel/trace/trace_events.c`, `ring_buffer.c`) and copied into trace.dat unchanged:

    name: sched_wakeup
    ID: 304
    format:
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
    (blank line)
    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;

    print fmt: "comm=%s", REC->comm

The declaration is free text (`__attribute__((user))`, `enum x`, `struct y *`); `size` and `signed` describe
the bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from converter.errors import TraceError

#: `array_length` of a declaration with empty brackets: how many elements there are is not part of the type.
FLEXIBLE: Final = -1


class FormatSyntaxError(TraceError):
    """A text from tracefs does not follow the kernel's grammar for it."""


class Location(IntEnum):
    """The location of a field's bytes (`TRACE_EVENT` macros `__dynamic_array` and `__rel_dynamic_array`)."""

    #: At `offset`, `size` bytes.
    INLINE = 0
    #: At `offset` is a word: length << 16 | offset from the start of the record.
    DATA_LOC = 1
    #: At `offset` is a word: length << 16 | offset from the end of that word.
    REL_LOC = 2


class FormatField(NamedTuple):
    """One `field:` line of a format file.

    `type` is the declared C type without name, array suffix and location prefix. `array_length` is None if the field is
    not an array, `FLEXIBLE` for `[]`, and 0 where the text has an expression that only the kernel's compiler could
    evaluate (`char comm[TASK_COMM_LEN]` of old kernels). `size` 0 means up to the end of the record.
    """

    name: str
    type: str
    location: Location
    array_length: int | None
    offset: int
    size: int
    signed: bool
    common: bool

    @property
    def is_array(self) -> bool:
        """True if declared with brackets, or a dynamic string of the oldest (16-bit) kind."""
        if self.array_length is not None:
            return True
        # Before dynamic arrays there were only dynamic strings: a 16-bit offset, and the length is strlen().
        return self.size == 2 and self.location is not Location.INLINE

    @property
    def is_tail(self) -> bool:
        """True if the field extends from its offset to the end of the record."""
        return self.size == 0 and self.location is Location.INLINE

    @property
    def is_string(self) -> bool:
        """True for an array that libtraceevent prints as text: its type's name contains char, u8 or s8."""
        if self.size == 2 and self.location is not Location.INLINE:
            return True  # a dynamic string of the oldest kind
        repeated = self.is_array or self.is_tail
        return repeated and any(name in self.type for name in ("char", "u8", "s8"))

    @property
    def is_bitmask(self) -> bool:
        """True for a CPU mask or a `__bitmask`: an array of longs that is one number."""
        if "cpumask" in self.type:
            return True
        return (
            self.location is not Location.INLINE and self.is_array and self.type == "unsigned long"
        )

    @property
    def is_pointer(self) -> bool:
        """True if the declared type is a pointer; libtraceevent prints such values in hexadecimal."""
        return "*" in self.type

    @property
    def is_long(self) -> bool:
        """True if the type is `long` or `long long`; libtraceevent prints such unsigned values in hexadecimal."""
        return "long" in self.type

    def element_bytes(self, long_size: int) -> int:
        """Return the size of one element, or of the value if it is not an array; 0 if the text does not say."""
        if not self.is_array and self.size and self.location is Location.INLINE:
            return self.size
        count = self.array_length or 0
        if self.location is Location.INLINE and 0 < count <= self.size:
            return self.size // count
        if self.is_string:
            return 1
        if self.is_bitmask:
            return long_size
        return type_size(self.type, long_size)


@dataclass(slots=True)
class EventFormat:
    """A parsed `events/<system>/<event>/format` file."""

    system: str
    name: str
    id: int
    fields: tuple[FormatField, ...]
    common_fields: tuple[FormatField, ...]
    print_fmt: str

    def field(self, name: str) -> FormatField | None:
        """Return the field of that name, common fields first (libtraceevent `tep_find_any_field`)."""
        for field in (*self.common_fields, *self.fields):
            if field.name == name:
                return field
        return None


def event_format_text(format: EventFormat) -> bytes:
    """Return the text of a format as tracefs has it, which `parse_event_format` reads."""
    common, own = (
        "".join(map(_field_text, fields)) for fields in (format.common_fields, format.fields)
    )
    text = f"name: {format.name}\nID: {format.id}\nformat:\n{common}\n{own}\nprint fmt: {format.print_fmt}\n"
    return text.encode("utf-8", "surrogateescape")


def _field_text(field: FormatField) -> str:
    location = {Location.DATA_LOC: "__data_loc ", Location.REL_LOC: "__rel_loc "}.get(
        field.location
    )
    length = "" if field.array_length in (None, FLEXIBLE) else str(field.array_length)
    brackets = "" if field.array_length is None else f"[{length}]"
    # A dynamic array has its brackets at its type.
    declared = (
        f"{field.type} {field.name}{brackets}"
        if location is None
        else f"{location}{field.type}{brackets} {field.name}"
    )
    return (
        f"\tfield:{declared};\toffset:{field.offset};\tsize:{field.size};"
        f"\tsigned:{int(field.signed)};\n"
    )


class HeaderPage(NamedTuple):
    """A parsed `events/header_page` file: the offsets of the parts of a ring-buffer page."""

    timestamp_offset: int
    timestamp_size: int
    commit_offset: int
    commit_size: int
    data_offset: int
    data_size: int
    #: None in kernels that do not have the field.
    overwrite_offset: int | None = None
    overwrite_size: int | None = None

    @property
    def long_size(self) -> int:
        """The kernel's `sizeof(long)`: `commit` is a `local_t`."""
        return self.commit_size

    @property
    def page_size(self) -> int:
        """Size of one sub-buffer, header included."""
        return self.data_offset + self.data_size


FORMAT_HEAD = re.compile(rb"\s*+name:([^\n]*+)\n\s*+ID:[ \t]*+([0-9]{1,10})\b")
_FIELD = re.compile(
    rb"field(?:[ \t]+special)?[ \t]*:([^;]*);"
    rb"\s*offset:\s*([0-9]{1,9})\s*;"
    # A typing error of Linux 2.6.30: "tsize".
    rb"\s*t?size:\s*([0-9]{1,9})\s*;"
    rb"(?:\s*signed:\s*(-?[0-9]{1,9})\s*;)?"
)
_PRINT_FMT = b"print fmt:"
_STACKS = frozenset({"kernel_stack", "user_stack"})
#: FTRACE_STACK_ENTRIES of kernel/trace/trace.h.
_USER_FRAMES = 8
#: A name is the last word of a declaration; ftrace's own events once had names such as `graph_ent.func`.
_NAMED = re.compile(r"(.*[\s*.)\]])?([^\s*.()\[\]]+)\s*", re.DOTALL)


def peek_event_format(text: bytes) -> tuple[bytes, int]:
    """Return name and ID of an event format (tracefs events/*/format) without parsing the rest.

    Raises `FormatSyntaxError` where the text does not start with both.
    """
    head = FORMAT_HEAD.match(text)
    if head is None or not (name := head[1].strip()):
        raise FormatSyntaxError("an event format starts with 'name:' and 'ID:'")
    return name, int(head[2])


def parse_event_format(text: bytes, system: str) -> EventFormat:
    """Parse the text of tracefs `events/<system>/<event>/format`.

    Offsets may overlap, be unordered or unaligned. A text without `print fmt:` has an empty one. Raises
    `FormatSyntaxError` for anything that is not such a text.
    """
    raw_name, event_id = peek_event_format(text)
    name = _decode(raw_name)
    head, _, print_fmt = text.partition(_PRINT_FMT)
    own: list[FormatField] = []
    common: list[FormatField] = []
    sections = 0
    in_fields = blank = False
    for line in map(bytes.strip, head.split(b"\n")):
        if not line:
            blank = True
        elif line.startswith(b"format:"):
            in_fields, blank = True, False
        elif in_fields:
            # A blank line ends the common fields; there is one even where an event has no field of its own.
            sections += blank
            blank = False
            try:
                field = _parse_field(line, sections == 0)
            except FormatSyntaxError as error:
                raise FormatSyntaxError(f"{name}: {error}") from None
            (common if field.common else own).append(field)
    if not in_fields:
        raise FormatSyntaxError(f"event {name!r} has no 'format:' line")
    if system == "ftrace" and name in _STACKS:
        own = [_as_recorded(field, name) for field in own]
    return EventFormat(
        system, name, event_id, tuple(own), tuple(common), _decode(print_fmt).strip()
    )


def _as_recorded(field: FormatField, event: str) -> FormatField:
    """Correct the frames of a stack, which are longs whatever the text calls them (`char caller[64]` in some kernels).

    The text has eight, which are always reserved; the kernel's own stack is as long as its record.
    """
    if field.name != "caller" or field.location is not Location.INLINE:
        return field
    if event == "kernel_stack":
        return field._replace(type="unsigned long", array_length=FLEXIBLE, size=0)
    return field._replace(type="unsigned long", array_length=_USER_FRAMES)


def parse_header_page(text: bytes) -> HeaderPage:
    """Parse the text of tracefs `events/header_page`.

    As in libtraceevent, `timestamp`, `commit` and `data` must be there and `overwrite` may be.
    """
    found: dict[str, FormatField] = {}
    for line in map(bytes.strip, text.split(b"\n")):
        if line:
            try:
                field = _parse_field(line, False)
            except FormatSyntaxError as error:
                raise FormatSyntaxError(f"header_page: {error}") from None
            found.setdefault(field.name, field)
    missing = [name for name in ("timestamp", "commit", "data") if name not in found]
    if missing:
        raise FormatSyntaxError(f"header_page has no field {missing[0]!r}")
    timestamp, commit, data = found["timestamp"], found["commit"], found["data"]
    if timestamp.size != 8:
        raise FormatSyntaxError(f"header_page: timestamp has {timestamp.size} bytes, expected 8")
    if commit.size not in (4, 8):
        raise FormatSyntaxError(f"header_page: commit has {commit.size} bytes, expected 4 or 8")
    overwrite = found.get("overwrite")
    return HeaderPage(
        timestamp.offset,
        timestamp.size,
        commit.offset,
        commit.size,
        data.offset,
        data.size,
        overwrite.offset if overwrite else None,
        overwrite.size if overwrite else None,
    )


#: `__str_loc` is the name of `__data_loc` in Linux 2.6.30.
_LOCATIONS: Final = {
    "__data_loc": Location.DATA_LOC,
    "__str_loc": Location.DATA_LOC,
    "__rel_loc": Location.REL_LOC,
}

_SIZES: Final = {
    "char": 1, "bool": 1, "_Bool": 1, "u8": 1, "s8": 1,
    "short": 2, "u16": 2, "s16": 2, "__le16": 2, "__be16": 2,
    "int": 4, "unsigned": 4, "u32": 4, "s32": 4, "__le32": 4, "__be32": 4, "gfp_t": 4, "pid_t": 4, "dev_t": 4,
    "long long": 8, "u64": 8, "s64": 8, "__le64": 8, "__be64": 8, "loff_t": 8, "sector_t": 8, "ktime_t": 8,
}  # fmt: skip
_LONGS: Final = frozenset({"long", "size_t", "ssize_t", "uintptr_t", "cpumask_t"})


def type_size(name: str, long_size: int) -> int:
    """Return the size of a C type by its name in the kernel; 0 if its size is not known."""
    if name.endswith("*"):
        return long_size
    words = [word for word in name.split() if word not in ("const", "volatile", "signed")]
    if len(words) > 1:
        words = [word for word in words if word != "unsigned"]
    if len(words) > 1 and words[-1] == "int":
        words.pop()
    plain = " ".join(words)
    plain = plain.removeprefix("__") if plain.startswith(("__u", "__s")) else plain
    plain = plain.removesuffix("_t") if plain.startswith(("int", "uint")) else plain
    if plain in _LONGS:
        return long_size
    fixed = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
    fixed |= {"int64": 8, "uint64": 8}
    return _SIZES.get(plain) or fixed.get(plain, 0)


@lru_cache(maxsize=1024)  # all events have the same common fields, and many have others in common
def _parse_field(line: bytes, common: bool) -> FormatField:
    match = _FIELD.fullmatch(line)
    if match is None:
        raise FormatSyntaxError(f"not a field: {_decode(line[:100])!r}")
    declaration = _decode(match[1]).strip()
    location = Location.INLINE
    for prefix, found in _LOCATIONS.items():
        if declaration.startswith(prefix):
            declaration, location = declaration[len(prefix) :].lstrip(), found
            if declaration.isidentifier():
                # Before Linux 2.6.32 all fields of variable length were text.
                declaration = f"char[] {declaration}"
    name, declared, array_length = _parse_declaration(declaration)
    if name is None:
        raise FormatSyntaxError(f"no name in the declaration {declaration[:100]!r}")
    signed = match[4] is not None and int(match[4]) != 0
    return FormatField(
        name, declared, location, array_length, int(match[2]), int(match[3]), signed, common
    )


def _parse_declaration(declaration: str) -> tuple[str | None, str, int | None]:
    """Return name, type and array length of `T name`, `T name[n]` and `T[] name` (a dynamic array)."""
    head, bracket, rest = declaration.partition("[")
    inside, closed, tail = rest.rpartition("]")
    if bracket and not closed:
        return None, "", None
    if tail.strip():
        name, extra = _split_name(tail)
        declared = "" if extra else head.strip()
    else:
        name, declared = _split_name(head)
    return (name if declared else None), declared, _array_length(inside) if bracket else None


def _split_name(declaration: str) -> tuple[str | None, str]:
    match = _NAMED.fullmatch(declaration)
    if match is None:
        return None, ""
    declared = (match[1] or "").rstrip()
    if declared.endswith("."):
        declared = declared[: declared.rfind(" ") + 1].rstrip()
    return match[2], declared


def _array_length(inside: str) -> int:
    if not inside.strip():
        return FLEXIBLE
    length = 1
    for dimension in inside.replace("[", "]").split("]"):
        text = dimension.strip()
        if text:
            length *= int(text) if len(text) < 10 and text.isascii() and text.isdigit() else 0
        if length >= 1 << 31:
            return 0
    return length


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
