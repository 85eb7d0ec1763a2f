"""Templates as the document's language allows them, drawn."""

from __future__ import annotations

from hypothesis import strategies as st

NUMBERS = st.sampled_from(
    [
        *("X1", "X2", "X4", "XW", "U1", "U2", "U4", "D1", "D2", "D4", "DW", "o2", "oW", "E1"),
        *("B1", "B0.3", "B2.5", "HB", "HT", "X2 & 0x3c", "U1 & 0x0f"),
    ]
)
MOVES = st.sampled_from(["G0", "G4", "G8.3", "W1", "W3", "O1", "O0.5", "R0", "R1", "R3"])
TEXTS = st.sampled_from(['"x"', '"a="', '" b"', "word", '"c "', '""', "A4", "A0.2", "A6.8", "S1"])
MACROS = st.sampled_from(
    [
        *("$a", "$b", "$a%X4", "$b%D4", "$a%W0.3", "$a & 0xff", "$b%B1", "$a%o4", "$D1", "$D2%U4"),
        *("$D1%W4.9 & 3", "$L1", "$HD", "$DATAPOINTER", "$PID", "$CPUID", "$WORDSIZE", "$UNKNOWN"),
    ]
)
CONSTANTS = st.sampled_from(
    ["0", "1", "2", "3", "7", "0xff", "o17", "4294967296", "0xffffffffffffffff"]
)
#: Of a loop: what ends soon, mostly.
COUNTS = st.sampled_from(
    ["0", "1", "3", "$a", "$b", "U1", "X1 & 0x3", "$HD", "$D1%W0.1", "40", "D1"]
)
EXPRESSIONS = st.recursive(
    st.one_of(NUMBERS, MACROS.filter(lambda text: "%" not in text), CONSTANTS),
    lambda inner: st.lists(
        st.one_of(inner, inner.map(lambda text: f"({text})")), min_size=2, max_size=3
    ).flatmap(
        lambda parts: st.lists(
            st.sampled_from("+-*/"), min_size=len(parts) - 1, max_size=len(parts) - 1
        ).map(
            lambda signs: " ".join(
                [parts[0], *(f"{sign} {part}" for sign, part in zip(signs, parts[1:], strict=True))]
            )
        )
    ),
    max_leaves=4,
)
ASSIGNED = st.sampled_from(["a", "b", "DATAPOINTER", "c"])
ASSIGNMENTS = st.one_of(
    st.tuples(ASSIGNED, EXPRESSIONS).map(lambda pair: f"{{{{ ${pair[0]} = {pair[1]} }}}}"),
    st.just("{{ $a }}"),
)
QUOTED = st.sampled_from(['"one"', '"two "', '"three"', "`x$a.`", "`v=X1`"])


def _switched(items):
    cases = st.lists(
        st.tuples(
            st.sampled_from(["0", "1", "5", "0x05", "-1", "255", "65535", "\\*"]),
            st.one_of(QUOTED, items.map(lambda text: f"{{ {text} }}"), NUMBERS),
        ),
        min_size=1,
        max_size=3,
    ).map(lambda given: ", ".join(f"{match} {target}" for match, target in given))
    return st.tuples(st.one_of(NUMBERS, MACROS), cases).map(", ".join)


def _flags():
    entries = st.lists(
        st.tuples(
            st.sampled_from(["1", "4", "80", "0", "o17", "& F 5", "& 1 0"]),
            QUOTED,
            QUOTED,
            st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ).map(
        lambda given: ", ".join(
            f"{value} {text}" + (f" {{{other}}}" if both else "")
            for value, text, other, both in given
        )
    )
    return st.tuples(st.one_of(NUMBERS, MACROS), entries).map(
        lambda pair: f"BITFLAGS {pair[0]}, {pair[1]}"
    )


def _joined(items):
    return st.lists(st.tuples(items, st.sampled_from([" ", " ", ""])), min_size=1, max_size=5).map(
        lambda given: "".join(text + blank for text, blank in given)
    )


SIMPLE = st.one_of(
    NUMBERS,
    MOVES,
    TEXTS,
    MACROS,
    ASSIGNMENTS,
    QUOTED,
    st.sampled_from(["\\n", "\\t", "$600", "f($D1)"]),
)
BODIES = _joined(
    st.recursive(
        SIMPLE,
        lambda items: st.one_of(
            _switched(_joined(items)),
            _flags(),
            st.tuples(COUNTS, _joined(items)).map(lambda pair: f"LOOP {pair[0]} {{ {pair[1]} }}"),
        ),
        max_leaves=8,
    )
)
#: What they call: a subroutine, which shares macros by place, and a function, which has its own.
CALLED = """600 1.0 "sub" {{ $z = $z + 2 }} $z U1
501 1.0 {{ f(n) {{ $n2 = $n * 2 }} "f" $n $n2 LOOP $n { "." } }} "unused"
"""
