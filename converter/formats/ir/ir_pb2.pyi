from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Trace(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: _containers.RepeatedCompositeFieldContainer[Record]
    def __init__(self, record: _Optional[_Iterable[_Union[Record, _Mapping]]] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("header", "zstd", "tables", "batch", "tail")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ZSTD_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    header: Header
    zstd: bytes
    tables: Tables
    batch: Batch
    tail: Tail
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., zstd: _Optional[bytes] = ..., tables: _Optional[_Union[Tables, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ..., tail: _Optional[_Union[Tail, _Mapping]] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("magic", "version", "format", "variant", "clock")
    MAGIC_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    magic: str
    version: int
    format: str
    variant: str
    clock: ClockDomain
    def __init__(self, magic: _Optional[str] = ..., version: _Optional[int] = ..., format: _Optional[str] = ..., variant: _Optional[str] = ..., clock: _Optional[_Union[ClockDomain, _Mapping]] = ...) -> None: ...

class ClockDomain(_message.Message):
    __slots__ = ("name", "rate", "epoch_ns", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_NS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    rate: str
    epoch_ns: int
    description: bytes
    def __init__(self, name: _Optional[bytes] = ..., rate: _Optional[str] = ..., epoch_ns: _Optional[int] = ..., description: _Optional[bytes] = ...) -> None: ...

class Tables(_message.Message):
    __slots__ = ("string", "process", "thread", "track", "event_class")
    STRING_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    THREAD_FIELD_NUMBER: _ClassVar[int]
    TRACK_FIELD_NUMBER: _ClassVar[int]
    EVENT_CLASS_FIELD_NUMBER: _ClassVar[int]
    string: _containers.RepeatedScalarFieldContainer[bytes]
    process: _containers.RepeatedCompositeFieldContainer[Process]
    thread: _containers.RepeatedCompositeFieldContainer[Thread]
    track: _containers.RepeatedCompositeFieldContainer[Track]
    event_class: _containers.RepeatedCompositeFieldContainer[EventClass]
    def __init__(self, string: _Optional[_Iterable[bytes]] = ..., process: _Optional[_Iterable[_Union[Process, _Mapping]]] = ..., thread: _Optional[_Iterable[_Union[Thread, _Mapping]]] = ..., track: _Optional[_Iterable[_Union[Track, _Mapping]]] = ..., event_class: _Optional[_Iterable[_Union[EventClass, _Mapping]]] = ...) -> None: ...

class Process(_message.Message):
    __slots__ = ("index", "pid", "name", "parent_pid", "command_line", "large_pid", "large_parent_pid")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARENT_PID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_LINE_FIELD_NUMBER: _ClassVar[int]
    LARGE_PID_FIELD_NUMBER: _ClassVar[int]
    LARGE_PARENT_PID_FIELD_NUMBER: _ClassVar[int]
    index: int
    pid: int
    name: bytes
    parent_pid: int
    command_line: _containers.RepeatedScalarFieldContainer[bytes]
    large_pid: int
    large_parent_pid: int
    def __init__(self, index: _Optional[int] = ..., pid: _Optional[int] = ..., name: _Optional[bytes] = ..., parent_pid: _Optional[int] = ..., command_line: _Optional[_Iterable[bytes]] = ..., large_pid: _Optional[int] = ..., large_parent_pid: _Optional[int] = ...) -> None: ...

class Thread(_message.Message):
    __slots__ = ("index", "tid", "process", "name", "large_tid")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TID_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LARGE_TID_FIELD_NUMBER: _ClassVar[int]
    index: int
    tid: int
    process: int
    name: bytes
    large_tid: int
    def __init__(self, index: _Optional[int] = ..., tid: _Optional[int] = ..., process: _Optional[int] = ..., name: _Optional[bytes] = ..., large_tid: _Optional[int] = ...) -> None: ...

class Track(_message.Message):
    __slots__ = ("index", "name", "scope", "owner", "parent", "unit", "identity", "large_identity")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    LARGE_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    index: int
    name: bytes
    scope: int
    owner: int
    parent: int
    unit: bytes
    identity: int
    large_identity: int
    def __init__(self, index: _Optional[int] = ..., name: _Optional[bytes] = ..., scope: _Optional[int] = ..., owner: _Optional[int] = ..., parent: _Optional[int] = ..., unit: _Optional[bytes] = ..., identity: _Optional[int] = ..., large_identity: _Optional[int] = ...) -> None: ...

class EventClass(_message.Message):
    __slots__ = ("kind", "name", "category", "field", "untimed", "native")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    UNTIMED_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    kind: int
    name: bytes
    category: bytes
    field: _containers.RepeatedCompositeFieldContainer[Field]
    untimed: bool
    native: bytes
    def __init__(self, kind: _Optional[int] = ..., name: _Optional[bytes] = ..., category: _Optional[bytes] = ..., field: _Optional[_Iterable[_Union[Field, _Mapping]]] = ..., untimed: bool = ..., native: _Optional[bytes] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ("name", "type", "role", "unit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    type: FieldClass
    role: int
    unit: bytes
    def __init__(self, name: _Optional[bytes] = ..., type: _Optional[_Union[FieldClass, _Mapping]] = ..., role: _Optional[int] = ..., unit: _Optional[bytes] = ...) -> None: ...

class FieldClass(_message.Message):
    __slots__ = ("integer", "float", "boolean", "string", "blob", "null", "array", "structure", "variant", "optional")
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    FLOAT_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    STRING_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    NULL_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    integer: IntegerClass
    float: int
    boolean: Nothing
    string: Nothing
    blob: bytes
    null: Nothing
    array: ArrayClass
    structure: Members
    variant: Members
    optional: FieldClass
    def __init__(self, integer: _Optional[_Union[IntegerClass, _Mapping]] = ..., float: _Optional[int] = ..., boolean: _Optional[_Union[Nothing, _Mapping]] = ..., string: _Optional[_Union[Nothing, _Mapping]] = ..., blob: _Optional[bytes] = ..., null: _Optional[_Union[Nothing, _Mapping]] = ..., array: _Optional[_Union[ArrayClass, _Mapping]] = ..., structure: _Optional[_Union[Members, _Mapping]] = ..., variant: _Optional[_Union[Members, _Mapping]] = ..., optional: _Optional[_Union[FieldClass, _Mapping]] = ...) -> None: ...

class Nothing(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class IntegerClass(_message.Message):
    __slots__ = ("bits", "signed", "style", "label", "flags")
    BITS_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    STYLE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    bits: int
    signed: bool
    style: int
    label: _containers.RepeatedCompositeFieldContainer[Label]
    flags: bool
    def __init__(self, bits: _Optional[int] = ..., signed: bool = ..., style: _Optional[int] = ..., label: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., flags: bool = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("low", "high", "text")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    low: int
    high: int
    text: bytes
    def __init__(self, low: _Optional[int] = ..., high: _Optional[int] = ..., text: _Optional[bytes] = ...) -> None: ...

class ArrayClass(_message.Message):
    __slots__ = ("element", "length")
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    element: FieldClass
    length: int
    def __init__(self, element: _Optional[_Union[FieldClass, _Mapping]] = ..., length: _Optional[int] = ...) -> None: ...

class Members(_message.Message):
    __slots__ = ("member",)
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    member: _containers.RepeatedCompositeFieldContainer[Member]
    def __init__(self, member: _Optional[_Iterable[_Union[Member, _Mapping]]] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("name", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    type: FieldClass
    def __init__(self, name: _Optional[bytes] = ..., type: _Optional[_Union[FieldClass, _Mapping]] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("count", "ts", "event_class", "cpu", "thread", "track", "row", "table")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    EVENT_CLASS_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    THREAD_FIELD_NUMBER: _ClassVar[int]
    TRACK_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    count: int
    ts: Numbers
    event_class: Numbers
    cpu: Numbers
    thread: Numbers
    track: Numbers
    row: Numbers
    table: _containers.RepeatedCompositeFieldContainer[Table]
    def __init__(self, count: _Optional[int] = ..., ts: _Optional[_Union[Numbers, _Mapping]] = ..., event_class: _Optional[_Union[Numbers, _Mapping]] = ..., cpu: _Optional[_Union[Numbers, _Mapping]] = ..., thread: _Optional[_Union[Numbers, _Mapping]] = ..., track: _Optional[_Union[Numbers, _Mapping]] = ..., row: _Optional[_Union[Numbers, _Mapping]] = ..., table: _Optional[_Iterable[_Union[Table, _Mapping]]] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ("event_class", "rows", "column")
    EVENT_CLASS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    event_class: int
    rows: int
    column: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, event_class: _Optional[int] = ..., rows: _Optional[int] = ..., column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("numbers", "nulls", "list", "structure", "variant", "optional")
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    numbers: Numbers
    nulls: Nothing
    list: List
    structure: Columns
    variant: Union
    optional: Optional
    def __init__(self, numbers: _Optional[_Union[Numbers, _Mapping]] = ..., nulls: _Optional[_Union[Nothing, _Mapping]] = ..., list: _Optional[_Union[List, _Mapping]] = ..., structure: _Optional[_Union[Columns, _Mapping]] = ..., variant: _Optional[_Union[Union, _Mapping]] = ..., optional: _Optional[_Union[Optional, _Mapping]] = ...) -> None: ...

class Numbers(_message.Message):
    __slots__ = ("width", "base", "data", "deltas")
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DELTAS_FIELD_NUMBER: _ClassVar[int]
    width: int
    base: int
    data: bytes
    deltas: bool
    def __init__(self, width: _Optional[int] = ..., base: _Optional[int] = ..., data: _Optional[bytes] = ..., deltas: bool = ...) -> None: ...

class List(_message.Message):
    __slots__ = ("lengths", "elements", "count")
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    lengths: Numbers
    elements: Column
    count: int
    def __init__(self, lengths: _Optional[_Union[Numbers, _Mapping]] = ..., elements: _Optional[_Union[Column, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class Columns(_message.Message):
    __slots__ = ("column",)
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    column: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, column: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class Union(_message.Message):
    __slots__ = ("tags", "rows", "option", "count")
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    OPTION_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    tags: Numbers
    rows: Numbers
    option: _containers.RepeatedCompositeFieldContainer[Column]
    count: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tags: _Optional[_Union[Numbers, _Mapping]] = ..., rows: _Optional[_Union[Numbers, _Mapping]] = ..., option: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., count: _Optional[_Iterable[int]] = ...) -> None: ...

class Optional(_message.Message):
    __slots__ = ("valid", "values")
    VALID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    valid: Numbers
    values: Column
    def __init__(self, valid: _Optional[_Union[Numbers, _Mapping]] = ..., values: _Optional[_Union[Column, _Mapping]] = ...) -> None: ...

class Tail(_message.Message):
    __slots__ = ("events", "environment", "clock_domain", "sidecar", "symbols", "warning")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    CLOCK_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    SIDECAR_FIELD_NUMBER: _ClassVar[int]
    SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    events: int
    environment: _containers.RepeatedCompositeFieldContainer[Entry]
    clock_domain: _containers.RepeatedCompositeFieldContainer[ClockDomain]
    sidecar: _containers.RepeatedCompositeFieldContainer[Entry]
    symbols: Symbols
    warning: _containers.RepeatedCompositeFieldContainer[Damage]
    def __init__(self, events: _Optional[int] = ..., environment: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., clock_domain: _Optional[_Iterable[_Union[ClockDomain, _Mapping]]] = ..., sidecar: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., symbols: _Optional[_Union[Symbols, _Mapping]] = ..., warning: _Optional[_Iterable[_Union[Damage, _Mapping]]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: Value
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("null", "boolean", "integer", "large_integer", "number", "text", "escaped_text", "data", "list", "map")
    NULL_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    LARGE_INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ESCAPED_TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    null: Nothing
    boolean: bool
    integer: int
    large_integer: str
    number: float
    text: str
    escaped_text: str
    data: bytes
    list: Values
    map: Entries
    def __init__(self, null: _Optional[_Union[Nothing, _Mapping]] = ..., boolean: bool = ..., integer: _Optional[int] = ..., large_integer: _Optional[str] = ..., number: _Optional[float] = ..., text: _Optional[str] = ..., escaped_text: _Optional[str] = ..., data: _Optional[bytes] = ..., list: _Optional[_Union[Values, _Mapping]] = ..., map: _Optional[_Union[Entries, _Mapping]] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, value: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Entries(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, entry: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ...) -> None: ...

class Symbols(_message.Message):
    __slots__ = ("count", "address", "names")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    count: int
    address: Numbers
    names: List
    def __init__(self, count: _Optional[int] = ..., address: _Optional[_Union[Numbers, _Mapping]] = ..., names: _Optional[_Union[List, _Mapping]] = ...) -> None: ...

class Damage(_message.Message):
    __slots__ = ("message", "format", "path", "offset", "field", "expected", "found")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    format: bytes
    path: bytes
    offset: int
    field: bytes
    expected: bytes
    found: bytes
    def __init__(self, message: _Optional[bytes] = ..., format: _Optional[bytes] = ..., path: _Optional[bytes] = ..., offset: _Optional[int] = ..., field: _Optional[bytes] = ..., expected: _Optional[bytes] = ..., found: _Optional[bytes] = ...) -> None: ...
