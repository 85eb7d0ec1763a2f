"""Templates of every construct, and a recording of a kernel that they are applied to."""

from __future__ import annotations

from support.aix.files import entry_64, words_64

#: Programs that are executed, dispatches, system calls, and a fork.
KERNEL = (
    entry_64(0x1340, b"/usr/bin/ksh -c true\0", word=40, tid=7, ts=2),
    *(
        entry
        for i in range(10)
        for entry in (
            words_64(0x1060, 40, 7, 60 + i, 8, 61, tid=7, ts=3 + 2000 * i),
            words_64(0x1010, 0x99, sub=5, tid=7, ts=4 + 2000 * i),
            words_64(0x1000, 0x1234, sub=i, tid=7, ts=5 + 2000 * i),
            words_64(0x1040, 0, sub=5, tid=7, ts=900 + 2000 * i),
            words_64(0x1060, 41, 8, 70, 7, 65, tid=8, ts=1900 + 2000 * i),
        )
    ),
    words_64(0x1390, 41, 8, tid=7, ts=20_005),
    words_64(0x1060, 41, 8, 70, 7, 65, tid=8, ts=10**14),
    entry_64(0x1340, b"/usr/bin/cp\0", word=41, tid=8, ts=10**14 + 1),
    words_64(0x1060, 40, 7, 50, 8, 70, tid=7, ts=10**18),
    words_64(0x1060, 40, 7, tid=7, ts=10**18 + 1),
    words_64(0x1010, 0x99, sub=5, tid=(1 << 64) - 1, ts=10**18 + 2),
)
#: Templates that are expressed.
EXPRESSED = [
    '"a" "b="X4 X2 U1',
    'W1 "x="DW "y="oW XW',
    "$D1 $D2%U4 $D3%D8 $HD $UNKNOWN",
    "$D1%W0.7 $D2%W1.3 & 0x1",
    '{{ $n = X4 }} {{ $m = 7 }} "n="$n%X4 $m',
    '$D1 & 0xff, 1 "one", 2 { "two" X4 }, \\* "other"',
    '"of" $HD, 0x5 { "five" }, 6 "six" "behind"',
    'W3 "is" DW, 1 "one", -1 "minus one", \\* "another"',
    '"first" \\n "second" $D1%U4 \\n $D2%U4',
    '"pid="$PID "tid="$TID "cpu="$CPUID $TRACEID $WORDSIZE',
    '`pid=$D1%X4` "errno="$D2%E4',
    '"a"X1"b"X2 "c" A0.3 "d"',
]
#: Those whose values move.
MOVING = [
    "LOOP 2 { X1 } X1",
    "U1 LOOP U1 { U1 \\n } U1",
    "LOOP 3 { LOOP 2 { U1 } } X1",
    "{{ $n = $D1 + 1 }} $n $n%U4",
    "{{ $n = $D2 * 2 + 3 }} {{ $m = ($n - 1) / $D1 }} LOOP $m { U1 }",
    '"name" S1 "behind" X1',
    "A4 U1 A2.9 X1 A0.3 A1",
    "B4.2 B0.3 U1 HB HT",
    'X1 \\t "tab" \\n "a" \\t X1',
    'BITFLAGS $D1, 1 "one", 2 "two" {"other"}, & 3 1 "three" X1',
    '$D1, 1 "one"',
    "X1, 0 { X1 }, 1 U4, \\* LOOP 2 { X1 } X1",
    "$D1, 1 { {{ $x = 5 }} X1 }, \\* { {{ $x = U2 }} } $x",
    "{{ $DATAPOINTER = 2 * $WORDSIZE }} $DATAPOINTER X1 R1 X1 O0.4 B1 R0 X1",
    '{{ f(n, m) {{ $k = $n }} "<" $k $m $D1 LOOP $n { "." } ">" }} f($D1, 7) f(2)',
    "ending ",
]
#: Templates that are not.
OTHERS = [
    '"t=" T4',
    "$SVC",
    "$SKIP",
    "$500",
    "F4",
    "{{ $x = S1 }}",
]
