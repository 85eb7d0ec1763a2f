# The classes that messages.py makes: one a message of schemas/ir.proto, an attribute a field.
from collections.abc import Iterable

from google.protobuf.internal.containers import (
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

class Trace(Message):
    record: RepeatedCompositeFieldContainer[Record]
    def __init__(self, *, record: Iterable[Record] | None = ...) -> None: ...

class Record(Message):
    header: Header
    zstd: bytes
    tables: Tables
    batch: Batch
    tail: Tail
    source: Source
    file: SourceFile
    place: Place
    def __init__(
        self,
        *,
        header: Header | None = ...,
        zstd: bytes | None = ...,
        tables: Tables | None = ...,
        batch: Batch | None = ...,
        tail: Tail | None = ...,
        source: Source | None = ...,
        file: SourceFile | None = ...,
        place: Place | None = ...,
    ) -> None: ...

class Place(Message):
    mark: bytes
    string: int
    process: int
    thread: int
    track: int
    event_class: int
    events: int
    def __init__(
        self,
        *,
        mark: bytes | None = ...,
        string: int | None = ...,
        process: int | None = ...,
        thread: int | None = ...,
        track: int | None = ...,
        event_class: int | None = ...,
        events: int | None = ...,
    ) -> None: ...

class Header(Message):
    magic: str
    version: int
    format: str
    variant: str
    clock: ClockDomain
    semantics: RepeatedCompositeFieldContainer[Entry]
    def __init__(
        self,
        *,
        magic: str | None = ...,
        version: int | None = ...,
        format: str | None = ...,
        variant: str | None = ...,
        clock: ClockDomain | None = ...,
        semantics: Iterable[Entry] | None = ...,
    ) -> None: ...

class ClockDomain(Message):
    name: bytes
    rate: str
    epoch_ns: int
    description: bytes
    def __init__(
        self,
        *,
        name: bytes | None = ...,
        rate: str | None = ...,
        epoch_ns: int | None = ...,
        description: bytes | None = ...,
    ) -> None: ...

class Tables(Message):
    string: RepeatedScalarFieldContainer[bytes]
    process: RepeatedCompositeFieldContainer[Process]
    thread: RepeatedCompositeFieldContainer[Thread]
    track: RepeatedCompositeFieldContainer[Track]
    event_class: RepeatedCompositeFieldContainer[EventClass]
    def __init__(
        self,
        *,
        string: Iterable[bytes] | None = ...,
        process: Iterable[Process] | None = ...,
        thread: Iterable[Thread] | None = ...,
        track: Iterable[Track] | None = ...,
        event_class: Iterable[EventClass] | None = ...,
    ) -> None: ...

class Process(Message):
    index: int
    pid: int
    name: bytes
    parent_pid: int
    command_line: RepeatedScalarFieldContainer[bytes]
    large_pid: int
    large_parent_pid: int
    def __init__(
        self,
        *,
        index: int | None = ...,
        pid: int | None = ...,
        name: bytes | None = ...,
        parent_pid: int | None = ...,
        command_line: Iterable[bytes] | None = ...,
        large_pid: int | None = ...,
        large_parent_pid: int | None = ...,
    ) -> None: ...

class Thread(Message):
    index: int
    tid: int
    process: int
    name: bytes
    large_tid: int
    def __init__(
        self,
        *,
        index: int | None = ...,
        tid: int | None = ...,
        process: int | None = ...,
        name: bytes | None = ...,
        large_tid: int | None = ...,
    ) -> None: ...

class Track(Message):
    index: int
    name: bytes
    scope: int
    owner: int
    parent: int
    unit: bytes
    identity: int
    large_identity: int
    def __init__(
        self,
        *,
        index: int | None = ...,
        name: bytes | None = ...,
        scope: int | None = ...,
        owner: int | None = ...,
        parent: int | None = ...,
        unit: bytes | None = ...,
        identity: int | None = ...,
        large_identity: int | None = ...,
    ) -> None: ...

class EventClass(Message):
    kind: int
    name: bytes
    category: bytes
    field: RepeatedCompositeFieldContainer[Field]
    untimed: bool
    native: bytes
    def __init__(
        self,
        *,
        kind: int | None = ...,
        name: bytes | None = ...,
        category: bytes | None = ...,
        field: Iterable[Field] | None = ...,
        untimed: bool | None = ...,
        native: bytes | None = ...,
    ) -> None: ...

class Field(Message):
    name: bytes
    type: FieldClass
    role: int
    unit: bytes
    def __init__(
        self,
        *,
        name: bytes | None = ...,
        type: FieldClass | None = ...,
        role: int | None = ...,
        unit: bytes | None = ...,
    ) -> None: ...

class FieldClass(Message):
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
    def __init__(
        self,
        *,
        integer: IntegerClass | None = ...,
        float: int | None = ...,
        boolean: Nothing | None = ...,
        string: Nothing | None = ...,
        blob: bytes | None = ...,
        null: Nothing | None = ...,
        array: ArrayClass | None = ...,
        structure: Members | None = ...,
        variant: Members | None = ...,
        optional: FieldClass | None = ...,
    ) -> None: ...

class Nothing(Message):
    def __init__(self) -> None: ...

class IntegerClass(Message):
    bits: int
    signed: bool
    style: int
    label: RepeatedCompositeFieldContainer[Label]
    flags: bool
    def __init__(
        self,
        *,
        bits: int | None = ...,
        signed: bool | None = ...,
        style: int | None = ...,
        label: Iterable[Label] | None = ...,
        flags: bool | None = ...,
    ) -> None: ...

class Label(Message):
    low: int
    high: int
    text: bytes
    def __init__(
        self, *, low: int | None = ..., high: int | None = ..., text: bytes | None = ...
    ) -> None: ...

class ArrayClass(Message):
    element: FieldClass
    length: int
    def __init__(self, *, element: FieldClass | None = ..., length: int | None = ...) -> None: ...

class Members(Message):
    member: RepeatedCompositeFieldContainer[Member]
    def __init__(self, *, member: Iterable[Member] | None = ...) -> None: ...

class Member(Message):
    name: bytes
    type: FieldClass
    def __init__(self, *, name: bytes | None = ..., type: FieldClass | None = ...) -> None: ...

class Batch(Message):
    count: int
    ts: Numbers
    event_class: Numbers
    cpu: Numbers
    thread: Numbers
    track: Numbers
    row: Numbers
    table: RepeatedCompositeFieldContainer[Table]
    def __init__(
        self,
        *,
        count: int | None = ...,
        ts: Numbers | None = ...,
        event_class: Numbers | None = ...,
        cpu: Numbers | None = ...,
        thread: Numbers | None = ...,
        track: Numbers | None = ...,
        row: Numbers | None = ...,
        table: Iterable[Table] | None = ...,
    ) -> None: ...

class Table(Message):
    event_class: int
    rows: int
    column: RepeatedCompositeFieldContainer[Column]
    def __init__(
        self,
        *,
        event_class: int | None = ...,
        rows: int | None = ...,
        column: Iterable[Column] | None = ...,
    ) -> None: ...

class Column(Message):
    numbers: Numbers
    nulls: Nothing
    list: List
    structure: Columns
    variant: Union
    optional: Optional
    def __init__(
        self,
        *,
        numbers: Numbers | None = ...,
        nulls: Nothing | None = ...,
        list: List | None = ...,
        structure: Columns | None = ...,
        variant: Union | None = ...,
        optional: Optional | None = ...,
    ) -> None: ...

class Numbers(Message):
    width: int
    base: int
    data: bytes
    deltas: bool
    def __init__(
        self,
        *,
        width: int | None = ...,
        base: int | None = ...,
        data: bytes | None = ...,
        deltas: bool | None = ...,
    ) -> None: ...

class List(Message):
    lengths: Numbers
    elements: Column
    count: int
    def __init__(
        self,
        *,
        lengths: Numbers | None = ...,
        elements: Column | None = ...,
        count: int | None = ...,
    ) -> None: ...

class Columns(Message):
    column: RepeatedCompositeFieldContainer[Column]
    def __init__(self, *, column: Iterable[Column] | None = ...) -> None: ...

class Union(Message):
    tags: Numbers
    rows: Numbers
    option: RepeatedCompositeFieldContainer[Column]
    count: RepeatedScalarFieldContainer[int]
    def __init__(
        self,
        *,
        tags: Numbers | None = ...,
        rows: Numbers | None = ...,
        option: Iterable[Column] | None = ...,
        count: Iterable[int] | None = ...,
    ) -> None: ...

class Optional(Message):
    valid: Numbers
    values: Column
    def __init__(self, *, valid: Numbers | None = ..., values: Column | None = ...) -> None: ...

class Tail(Message):
    events: int
    environment: RepeatedCompositeFieldContainer[Entry]
    clock_domain: RepeatedCompositeFieldContainer[ClockDomain]
    sidecar: RepeatedCompositeFieldContainer[Entry]
    symbols: Symbols
    warning: RepeatedCompositeFieldContainer[Damage]
    tables: Tables
    def __init__(
        self,
        *,
        events: int | None = ...,
        environment: Iterable[Entry] | None = ...,
        clock_domain: Iterable[ClockDomain] | None = ...,
        sidecar: Iterable[Entry] | None = ...,
        symbols: Symbols | None = ...,
        warning: Iterable[Damage] | None = ...,
        tables: Tables | None = ...,
    ) -> None: ...

class Entry(Message):
    key: bytes
    value: Value
    escaped_key: str
    def __init__(
        self,
        *,
        key: bytes | None = ...,
        value: Value | None = ...,
        escaped_key: str | None = ...,
    ) -> None: ...

class Value(Message):
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
    packed: bytes
    def __init__(
        self,
        *,
        null: Nothing | None = ...,
        boolean: bool | None = ...,
        integer: int | None = ...,
        large_integer: str | None = ...,
        number: float | None = ...,
        text: str | None = ...,
        escaped_text: str | None = ...,
        data: bytes | None = ...,
        list: Values | None = ...,
        map: Entries | None = ...,
        packed: bytes | None = ...,
    ) -> None: ...

class Values(Message):
    value: RepeatedCompositeFieldContainer[Value]
    def __init__(self, *, value: Iterable[Value] | None = ...) -> None: ...

class Entries(Message):
    entry: RepeatedCompositeFieldContainer[Entry]
    def __init__(self, *, entry: Iterable[Entry] | None = ...) -> None: ...

class Symbols(Message):
    count: int
    address: Numbers
    names: List
    exact: bool
    def __init__(
        self,
        *,
        count: int | None = ...,
        address: Numbers | None = ...,
        names: List | None = ...,
        exact: bool | None = ...,
    ) -> None: ...

class Source(Message):
    name: bytes
    opened: bytes
    option: RepeatedCompositeFieldContainer[Entry]
    warning: RepeatedCompositeFieldContainer[Damage]
    def __init__(
        self,
        *,
        name: bytes | None = ...,
        opened: bytes | None = ...,
        option: Iterable[Entry] | None = ...,
        warning: Iterable[Damage] | None = ...,
    ) -> None: ...

class SourceFile(Message):
    name: bytes
    zstd: bytes
    def __init__(self, *, name: bytes | None = ..., zstd: bytes | None = ...) -> None: ...

class Damage(Message):
    message: bytes
    format: bytes
    path: bytes
    offset: int
    field: bytes
    expected: bytes
    found: bytes
    remark: bool
    def __init__(
        self,
        *,
        message: bytes | None = ...,
        format: bytes | None = ...,
        path: bytes | None = ...,
        offset: int | None = ...,
        field: bytes | None = ...,
        expected: bytes | None = ...,
        found: bytes | None = ...,
        remark: bool | None = ...,
    ) -> None: ...
