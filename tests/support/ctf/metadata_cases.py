"""Small texts of metadata: what is allowed, and what is wrong in exactly one place."""

from __future__ import annotations

HEAD = "/* CTF 1.8 */\n"
TYPES = """\
typealias integer { size = 8; } := uint8_t;
typealias integer { size = 32; } := uint32_t;
typealias integer { size = 8; signed = true; } := int8_t;
typealias floating_point { exp_dig = 8; mant_dig = 24; } := float;
"""
TRACE = "trace { major = 1; minor = 8; byte_order = le; };\n"


def headed(members: str) -> str:
    """A trace block whose packets have these fields in their header."""
    return (
        "trace { major = 1; minor = 8; byte_order = le;"
        f" packet.header := struct {{ {members} }}; }};\n"
    )


def fields(members: str) -> str:
    """Metadata with one event of these fields."""
    return f"{HEAD}{TRACE}{TYPES}event {{ name = e; fields := struct {{ {members} }}; }};\n"


#: Allowed: by name, the whole text.
ACCEPTED = {
    "without a signature": TRACE,
    "comments": HEAD + "// one\n/* two\nlines */" + TRACE,
    "types before the byte order": HEAD + TYPES + TRACE,
    "trailing comma": fields("enum : uint8_t { A, B = 3, C, } x;"),
    "ranges of enumerations": fields("enum : int8_t { A = -8 ... -1, B, C = 7 } x;"),
    "overlapping ranges": fields("enum : uint8_t { A = 1 ... 5, B = 3 ... 9 } x;"),
    "quoted labels": fields('enum : uint8_t { "a b" = 0x10, "event" } x;'),
    "two dimensions": fields("uint8_t a[2][3];"),
    "sequence": fields("uint32_t n; uint8_t a[n];"),
    "sequence by an absolute path": fields("uint32_t n; uint8_t a[event.fields.n];"),
    "length of a structure around": fields("uint32_t n; struct { uint8_t a[n]; } s;"),
    "length in a structure": fields("struct { uint32_t n; } s; uint8_t a[s.n];"),
    "keyword behind an underscore": fields("uint8_t _event; uint8_t _string;"),
    "names that differ by an underscore": fields("uint8_t a; uint8_t _a; uint8_t __a;"),
    "typedef in a structure": fields("typedef uint8_t byte; byte x;"),
    "two names": fields("uint8_t a, b[2];"),
    "named structure": HEAD + TRACE + TYPES + "struct s { uint8_t a; } align(16);\n"
    "event { fields := struct s; };",
    "structure without a semicolon": HEAD + TYPES + "struct a { uint8_t x; } "
    "struct b { struct a y; };" + TRACE,
    "named enumeration": HEAD + TRACE + TYPES + "enum e : uint8_t { A };\n"
    "event { fields := struct { enum e x; }; };",
    "named variant": fields("enum : uint8_t { a, b } t; variant v <t> { uint8_t a; float b; } x;"),
    "variant that is named before": HEAD + TRACE + TYPES + "variant v { uint8_t a; float b; };\n"
    "event { fields := struct { enum : uint8_t { a, b } t; variant v <t> x; }; };",
    "variant with an option that nothing selects": fields(
        "enum : uint8_t { a } t; variant <t> { uint8_t a; float b; } x;"
    ),
    "C type names": HEAD + "typealias integer { size = 64; } := unsigned long;"
    "typealias integer { size = 64; } := void *;" + TRACE,
    "int of enumerations": HEAD
    + "typealias integer { size = 32; } := int;"
    + TRACE
    + "event { fields := struct { enum { A } x; }; };",
    "unknown attributes": HEAD + "trace { major = 1; minor = 8; byte_order = be; more = 3; };\n"
    "typealias integer { size = 8; odd = yes; } := u8;",
    "callsite": HEAD + TRACE + 'callsite { name = "f"; func = "g"; };',
    "clock": HEAD + TRACE + "clock { name = c; freq = 1000; offset_s = -5; offset = -3; };",
    "large integers": fields("integer { size = 128; } x;"),
    "environment": HEAD + TRACE + 'env { a = -3; b = "x\\ty"; };',
    "binary": fields("enum : uint8_t { a = 0b101, b = 0B110u } x;"),
    "octal and hexadecimal": fields("uint8_t a[0x10]; uint8_t b[010u]; uint8_t c[3ULL];"),
    "array of structures and of enumerations": fields(
        "struct { uint8_t x; } a[4]; enum : uint8_t { A } b[4];"
    ),
    "array of a typedef of an array": fields("typedef uint8_t row[3]; row a[2];"),
    "sequence of sequences": fields("uint8_t n; uint8_t m; uint8_t a[n][m];"),
    "sequence in a typedef": fields(
        "uint8_t n; typedef struct { uint8_t a[n]; } list; struct { string n; list x; } s;"
    ),
    "sequence by a path from the stream": HEAD
    + TRACE
    + TYPES
    + "stream { packet.context := struct { uint8_t n; }; };"
    + "event { fields := struct { uint8_t a[stream.packet.context.n]; }; };",
    "integer of one bit": fields("integer { size = 1; } x;"),
    "largest labels": fields(
        "enum : integer { size = 64; } { A = 18446744073709551615 } x;"
        "enum : integer { size = 64; signed = 1; } { A = -9223372036854775808, B = 7 } y;"
    ),
    "label twice": fields('enum : uint8_t { "A", "B", "A" } x;'),
    "keywords as labels": fields("enum : uint8_t { event, stream = 3 } x;"),
    "structure of nothing with an alignment": fields("struct { } align(64) x;"),
    "alignments of structures": fields(
        "struct { integer { size = 8; align = 32; } a; } align(8) x; struct { uint8_t b; } align(64) y;"
    ),
    "structures without and with a name": HEAD
    + TRACE
    + TYPES
    + "struct inner { uint8_t a; }; struct outer { struct inner i; struct { uint8_t b; } j; };"
    "event { fields := struct outer; };",
    "names of underscores": fields("string _; string __; string ___;"),
    "selector without labels for options": fields(
        "enum : uint8_t { c } t; variant <t> { uint8_t a; } x;"
    ),
    "labels with spaces": fields(
        'enum : uint8_t { " a ", " b " } t; variant <t> { uint8_t a; float b; } x;'
    ),
    "names that clash without theirs": fields("uint8_t _a; uint8_t a; struct { uint8_t _; } s;"),
    "int as a name of a type": HEAD
    + TYPES
    + "typealias uint32_t := int; struct s { int x; };"
    + TRACE,
    "ids in two streams": HEAD
    + TYPES
    + headed("uint8_t stream_id;")
    + "stream { id = 0; }; stream { id = 1; };"
    "event { id = 3; stream_id = 0; }; event { id = 3; stream_id = 1; };",
    "an event that does not name the only stream": HEAD
    + TYPES
    + TRACE
    + "stream { event.header := struct { uint8_t id; }; };"
    + "event { id = 0; }; event { id = 1; stream_id = 0; };",
    "variant by a path of scopes": HEAD
    + TRACE
    + TYPES
    + "stream { event.context := struct { enum : uint8_t { a, b } t; }; };"
    + "event { fields := struct { variant <stream.event.context.t> { uint8_t a; string b; } v; }; };",
    "variant of structures with variants": fields(
        "enum : uint8_t { a, b } t; variant <t> {"
        " struct { enum : uint8_t { c, d } t; variant <t> { uint8_t c; float d; } _; } a;"
        " struct { uint8_t x; } b; } v;"
    ),
    "big-endian": HEAD + "trace { major = 1; minor = 8; byte_order = be; };",
    "network byte order": HEAD + "trace { major = 1; minor = 8; byte_order = network; };",
    "escapes in names": HEAD + TRACE + r'event { name = "a\"b\\c\td\x41\101"; };',
}

#: Wrong in one place: by name, the text and what its error says.
REFUSED = {
    "empty": ("", "no trace block"),
    "only a signature": (HEAD, "no trace block"),
    "another version": ("/* CTF 1.9 */\n" + TRACE, "version 1.8"),
    "half a version": ("/* CTF 1 */\n" + TRACE, "version 1.8"),
    "null character": (HEAD + TRACE + "\0", "a word, number"),
    "comment without end": (HEAD + TRACE + "/* x", "a comment has no end"),
    "string without end": (HEAD + 'trace { uuid = "x; };', "a string has no end"),
    "number and word": (HEAD + "trace { major = 1x; };", "an integer"),
    "number of 65 bits": (HEAD + "trace { x = 18446744073709551616; };", "an integer of 64 bits"),
    "bad octal number": (HEAD + "trace { x = 09; };", "an integer"),
    "strings side by side": (HEAD + 'trace { x = "a" "b"; };', "';'"),
    "no byte order": (HEAD + "trace { major = 1; minor = 8; };", "no byte_order"),
    "no major version": (HEAD + "trace { minor = 8; byte_order = le; };", "no major version"),
    "no minor version": (HEAD + "trace { major = 1; byte_order = le; };", "no minor version"),
    "magic number of 16 bits": (
        HEAD + headed("integer { size = 16; } magic;"),
        "not the first field, of 32 bits",
    ),
    "magic number that is not the first": (
        HEAD + TYPES + headed("uint8_t a; uint32_t magic;"),
        "not the first field, of 32 bits",
    ),
    "UUID of 15 bytes": (HEAD + TYPES + headed("uint8_t uuid[15];"), "not 16 bytes"),
    "UUID of larger integers": (HEAD + TYPES + headed("uint32_t uuid[16];"), "not 16 bytes"),
    "two streams without ids in packets": (
        HEAD + TRACE + "stream { id = 0; }; stream { id = 1; };",
        "of which of several streams",
    ),
    "two events without ids in records": (
        HEAD + TRACE + "stream { }; event { id = 0; }; event { id = 1; };",
        "which of several they are",
    ),
    "clock of a field that is not there": (
        fields("integer { size = 8; map = clock.c.value; } a;"),
        "there is no clock",
    ),
    "truth in quotation marks": (
        HEAD + TRACE + 'clock { name = c; absolute = "true"; };',
        "true or false",
    ),
    "bad byte order": (
        HEAD + "trace { major = 1; minor = 8; byte_order = up; };",
        "le, be or network",
    ),
    "major version": (HEAD + "trace { major = 2; byte_order = le; };", "trace.major"),
    "two traces": (HEAD + TRACE + TRACE, "two trace blocks"),
    "bad UUID": (
        HEAD + 'trace { major = 1; minor = 8; byte_order = le; uuid = "123"; };',
        "a UUID",
    ),
    "attribute twice": (
        HEAD + "trace { major = 1; minor = 8; byte_order = le; byte_order = le; };",
        "set twice",
    ),
    "unfinished block": (HEAD + "trace { major = 1;", "a name"),
    "integer without size": (fields("integer { align = 8; } x;"), "needs a size"),
    "integer of no bits": (fields("integer { size = 0; } x;"), "from 1"),
    "integer of negative size": (fields("integer { size = -8; } x;"), "from 1"),
    "size as a string": (fields('integer { size = "8"; } x;'), "an integer"),
    "alignment of 3": (fields("integer { size = 8; align = 3; } x;"), "power of two"),
    "alignment of 0": (fields("struct { uint8_t a; } align(0) s;"), "power of two"),
    "huge alignment": (fields("struct { uint8_t a; } align(0x100000000) s;"), "power of two"),
    "base": (fields("integer { size = 8; base = 7; } x;"), "a base"),
    "encoding": (fields("integer { size = 8; encoding = EBCDIC; } x;"), "an encoding"),
    "sign": (fields("integer { size = 8; signed = maybe; } x;"), "true or false"),
    "map": (fields("integer { size = 8; map = clock.value; } x;"), "clock.NAME.value"),
    "floating point of odd digits": (
        fields("floating_point { exp_dig = 9; mant_dig = 23; } x;"),
        "exponent and mantissa",
    ),
    "unknown type": (fields("uint9_t x;"), "no type 'uint9_t'"),
    "unknown structure": (fields("struct s x;"), "no structure 's'"),
    "structure in itself": (HEAD + TRACE + "struct s { struct s x; };", "no structure 's'"),
    "keyword as a name": (fields("uint8_t event;"), "a keyword"),
    "keyword as a type": (HEAD + "typealias integer { size = 8; } := trace;", "a keyword"),
    "two fields of a name": (fields("uint8_t a; uint8_t a;"), "two fields 'a'"),
    "alias twice": (HEAD + TYPES + TYPES + TRACE, "already defined"),
    "structure twice": (HEAD + TRACE + "struct s { }; struct s { };", "already defined"),
    "length of nothing": (fields("uint8_t a[];"), "an integer"),
    "negative length": (fields("uint8_t a[-1];"), "a length"),
    "huge length": (fields("uint8_t a[0x80000000];"), "a length"),
    "length that is not there": (fields("uint8_t a[n];"), "no field 'n'"),
    "length behind the sequence": (fields("uint8_t a[n]; uint8_t n;"), "no field 'n'"),
    "signed length": (fields("int8_t n; uint8_t a[n];"), "unsigned"),
    "length of a string": (fields("string n; uint8_t a[n];"), "unsigned"),
    "length outside of structures": (HEAD + TYPES + "typedef uint8_t a[n];" + TRACE, "no field"),
    "length by a keyword": (fields("uint8_t a[typedef];"), "no field 'typedef'"),
    "empty enumeration": (fields("enum : uint8_t { } x;"), "no labels"),
    "label out of range": (fields("enum : uint8_t { A = 256 } x;"), "no range"),
    "negative label": (fields("enum : uint8_t { A = -1 } x;"), "no range"),
    "range backwards": (fields("enum : uint8_t { A = 3 ... 2 } x;"), "no range"),
    "enumeration without int": (fields("enum { A } x;"), "a type 'int'"),
    "enumeration of floats": (fields("enum : float { A } x;"), "must be an integer"),
    "variant without selector": (fields("variant { uint8_t a; } x;"), "no selector"),
    "variant without options": (fields("enum : uint8_t { a } t; variant <t> { } x;"), "no options"),
    "selector that is no enumeration": (
        fields("uint8_t t; variant <t> { uint8_t a; } x;"),
        "an enumeration",
    ),
    "selector that is not there": (fields("variant <t> { uint8_t a; } x;"), "no field 't'"),
    "length as a string": (fields('uint8_t a["x"];'), "an integer"),
    "length by a type": (fields("uint8_t a[uint8_t];"), "no field 'uint8_t'"),
    "alignment as a string": (fields('integer { size = 8; align = "8"; } x;'), "an integer"),
    "negative alignment": (fields("integer { size = 8; align = -8; } x;"), "from 1"),
    "base as a string": (fields('integer { size = 8; base = "decimal"; } x;'), "an integer"),
    "sign as a string": (fields('integer { size = 8; signed = "false"; } x;'), "an integer"),
    "encoding as a string": (fields('integer { size = 8; encoding = "UTF8"; } x;'), "an integer"),
    "byte order of an integer": (
        fields("integer { size = 8; byte_order = middle; } x;"),
        "le, be, network or native",
    ),
    "alignment of a structure by a name": (fields("struct { } align(X) s;"), "an integer"),
    "alignment of a structure as a string": (fields('struct { } align("8") s;'), "an integer"),
    "negative alignment of a structure": (fields("struct { } align(-8) s;"), "power of two"),
    "label by a name": (fields("enum : uint8_t { A, B = A } x;"), "an integer"),
    "int that is a string": (
        HEAD + TRACE + "typealias string { encoding = ascii; } := int; struct { enum { A } x; };",
        "must be an integer",
    ),
    "label that is too small": (fields("enum : int8_t { A = -129 } x;"), "no range"),
    "type of no kind": (HEAD + "typealias whole { size = 8; } := x;" + TRACE, "no type 'whole'"),
    "typedef twice": (HEAD + TRACE + TYPES + "typedef uint8_t a; typedef int8_t a;", "already"),
    "array typedef twice": (
        HEAD + TRACE + TYPES + "typedef uint8_t a[2]; typedef uint8_t a[3];",
        "already defined",
    ),
    "keyword as a typedef": (HEAD + TRACE + TYPES + "typedef uint8_t int;", "a keyword"),
    "unfinished alias": (HEAD + "typealias", "end of the metadata"),
    "unfinished expression": (HEAD + "typealias integer { size =", "end of the metadata"),
    "empty selector": (fields("variant <> { uint8_t a; } x;"), "a name"),
    "number as a selector": (fields("variant <2> { uint8_t a; } x;"), "a name"),
    "keyword as a selector": (fields("variant <variant> { uint8_t a; } x;"), "no field 'variant'"),
    "string as a selector": (fields('variant <"t"> { uint8_t a; } x;'), "a name"),
    "selector that is a float": (
        fields("float t; variant <t> { uint8_t a; } x;"),
        "an enumeration",
    ),
    "selector that is a text": (
        fields("string t; variant <t> { uint8_t a; } x;"),
        "an enumeration",
    ),
    "event id that is a structure": (HEAD + TRACE + "event { id = struct { }; };", "an integer"),
    "UUID that is too long": (
        HEAD
        + 'trace { major = 1; minor = 8; byte_order = le; uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a5642a"; };',
        "a UUID",
    ),
    "version of many digits": (f"/* CTF {'1' * 40}.{'8' * 40} */\n" + TRACE, "version 1.8"),
    "fields that are no structure": (HEAD + TRACE + "event { fields := string; };", "a structure"),
    "event twice": (HEAD + TRACE + "event { id = 1; }; event { id = 1; };", "two events"),
    "stream twice": (HEAD + TRACE + "stream { }; stream { id = 0; };", "two streams"),
    "event of no stream": (HEAD + TRACE + "stream { }; event { stream_id = 7; };", "no stream 7"),
    "event of any stream": (
        HEAD + TRACE + "stream { id = 0; }; stream { id = 1; }; event { id = 0; };",
        "several streams",
    ),
    "event id as a string": (HEAD + TRACE + 'event { id = "x"; };', "an integer"),
    "clock without a name": (HEAD + TRACE + "clock { freq = 1; };", "needs a name"),
    "clock that stands": (HEAD + TRACE + "clock { name = c; freq = 0; };", "at least 1"),
    "clock twice": (HEAD + TRACE + "clock { name = c; }; clock { name = c; };", "two clocks"),
    "clock that is not there": (
        HEAD + TRACE + "stream { event.header := struct "
        "{ integer { size = 32; map = clock.c.value; } timestamp; }; };",
        "no clock 'c'",
    ),
}

_DEEP = "struct { " * 3000 + "string x;" + " } x;" * 3000
_DOUBLING = "struct a0 { uint8_t x; };\n" + "".join(
    f"struct a{i + 1} {{ struct a{i} x; struct a{i} y; }};\n" for i in range(60)
)
_CHAIN = "typedef uint8_t a0[1];\n" + "".join(f"typedef a{i} a{i + 1}[1];\n" for i in range(5000))

#: Refused, however much work they ask for.
HOSTILE = {
    "nesting": fields(_DEEP),
    "doubling": HEAD + TRACE + TYPES + _DOUBLING + "event { fields := struct a60; };",
    "chain": HEAD + TRACE + TYPES + _CHAIN + "event { fields := struct { a5000 x; }; };",
    "dimensions": fields("uint8_t a" + "[1]" * 5000 + ";"),
    "blocks": HEAD + TRACE + "trace {" * 5000,
    "digits": fields("uint8_t a[" + "9" * 5000 + "];"),
    "members": fields("".join(f"uint8_t a{i};" for i in range(20_000))),
    "labels": fields(
        "enum : uint8_t { " + ", ".join(f"a{i} = {i}" for i in range(20_000)) + "} x;"
    ),
}

#: Allowed, of records whose lengths no data have.
GIGANTIC = {
    "array": fields("uint8_t a[2147483647];"),
    "array of arrays": fields("uint8_t a[2147483647][2147483647][2147483647];"),
    "array of nothing": fields("struct { } a[2147483647];"),
    "arrays of nothing": fields("struct { } a[2147483647][2147483647][2147483647];"),
    "array of wide integers": fields("integer { size = 65536; } a[2147483647];"),
    "array of alignments": fields("struct { uint8_t a; } align(0x80000) x[2147483647];"),
    "array of strings": fields("string a[2147483647];"),
    "text": fields("integer { size = 8; align = 8; encoding = UTF8; } a[2147483647];"),
    "sequence": fields("integer { size = 64; } n; uint8_t a[n];"),
    "sequence of nothing": fields("integer { size = 64; } n; struct { } a[n];"),
    "sequence of strings": fields("integer { size = 64; } n; string a[n];"),
    "sequence of wide integers": fields(
        "integer { size = 64; } n; integer { size = 64; } a[n][9];"
    ),
}
