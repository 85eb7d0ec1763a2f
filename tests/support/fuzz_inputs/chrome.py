"""Inputs of Chrome's JSON that no fixture is like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.fuzzing.corpus import Files

_EVENT = '{"ph":"i","ts":1,"pid":1,"tid":1}'
#: Lists of events, one an event a line.
_LISTS = r"""
{"ph":"X","ts":1700000000000000.001,"dur":"0.3","tts":1e3,"tdur":12e-1,"tidelta":1,"scope":"s"}
{"ph":"X","ts":"+5"}

{"ph":"i","ts":1.00001}
{"ph":"i","ts":2e0}
{"ph":"i","ts":-0.5E+2}
{"ph":"i","ts":.5}
{"ph":"i","ts":5.}

{"ph":"X","ts":1.5,"dur":0.0977835574447349}
{"ph":"X","ts":-1.0000005,"dur":1}
{"ph":"i","ts":9223372036854}

{"ph":"i","ts":1,"args":{"a":9223372036854775807,"b":18446744073709551615,"c":"0xff","d":[1,2],"e":{"x":1,"x":2}}}
{"ph":"i","ts":1,"args":{"f":[{"k":1},{"k":2}],"g":[1,"a"],"h":[[1],[2]],"i":-0,"j":1e400,"k":"NaN","l":[],"m":{}}}
{"ph":"i","ts":1,"args":{"n":null,"o":[null,true],"p":[1.5,2],"q":{"r":[{"s":1},{"t":1}]},"u":"-Infinity"}}
{"ph":"i","ts":1,"args":{"v":[true,1],"w":["0x1","b"],"x":-9223372036854775809}}

{"ph":"i","ts":1,"name":"\u00e9\u20ac\ud83d\ude00\n\t\r\b\f\/\"\\","cat":"\u0041"}
{"ph":"i","ts":1,"args":{"v":"\ud800","\u0061":"\udc00x","w":"\ud800\u0041","x":"é€😀"}}
{"ph":"i","ts":1,"name":"\x"}
{"ph":"i","ts":1,"name":"\u12"}
{"ph":"i","ts":2,"n\x":1}

{"ph":"i","ts":1}
{"ph":"i","ts":1,"pid":5}
{"ph":"i","ts":1,"tid":6}
{"ph":"i","ts":1,"pid":"main","tid":"7"}
{"ph":"i","ts":1,"pid":18446744073709551615,"tid":"worker"}
{"ph":"i","ts":1,"pid":1.0,"tid":"\ud800"}
{"ph":"i","ts":1,"pid":"é","tid":[1]}
{"ph":"i","ts":1,"pid":1e300,"tid":null}
{"ph":"i","ts":1,"cpu":3,"pid":true}

{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}}
{"ph":"M","name":"thread_name","args":{"name":"t","x":1}}
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"t"}}
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"other"}}
{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"l"}}
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":-5}}
{"ph":"M","pid":[1],"args":{}}
{"ph":"M","name":"m","args":1}
{"ph":"M","name":"process_name","pid":1,"args":{"name":5}}
{"ph":"M","name":"\ud800"}
{"ph":"i","ts":1}

{"ph":"i","ph":"B","ts":1}
{"ph":7,"ts":1}
{"ph":"","ts":1}
{"ph":"xx","ts":1}
{"ph":"\u0042","ts":1}
{"ts":1,"ts":2,"ph":"i"}
{"ph":"i","ts":1,"args":5}
{"ph":"i","ts":1,"args":[1]}
{"ph":"i","ts":1,"args":{},"args":{"a":1}}
{"ph":"i","ts":1,"s":"g"}
{"ph":"i","ts":1,"s":"p"}
{"ph":"I","ts":1,"s":"x"}
{"ph":"i","ts":1,"cat":5,"name":5}
{"ph":"i","ts":1,"name":null}
{"ph":"P","ts":1,"stack":["a",1],"sf":3,"esf":"x"}
{"ph":"s","ts":1,"id":1,"bp":"e"}
{"ph":"f","ts":1,"id":1,"bp":"x"}
{"ph":"X","ts":1,"dur":-1,"bind_id":"0x1","flow_in":true,"flow_out":false}
{"ph":"X","ts":1,"dur":2,"bind_id":"0x1","flow_in":true,"flow_out":true}
{"ph":"X","ts":1,"flow_in":1,"flow_out":"true"}
{"ph":"C","ts":1,"id":5,"args":{"a":1,"b":2.5,"c":"x"}}
{"ph":"C","ts":1,"name":"n","args":{}}
{"ph":"i","ts":1,"odd":{"a":[1,{"b":null}]},"more":true}
{"ph":"R","ts":1}
{"ph":"c","ts":1,"id":1}
{"ph":"v","ts":1,"id":"0x1","args":{"dumps":{}}}
{"ph":"(","ts":1}
{"ph":"T","ts":1,"id":1,"dur":3}
{"ph":"T","ts":1,"args":{"step":"s"}}
{"ph":"E","ts":2}
{}
[]
7
"x"

{"ph":"i","ts":1,"args":[{"a":1}]}
{"ph":"i","ts":1,"args":{"a":[[1,2],[3]],"b":[{"x":1},{"x":"a"}],"c":{"d":[1,{"e":2}]}}}
{"ph":"i","ts":1,"args":{"a":[1,],"b":}}
{"ph":"i","ts":1,"args":{"a":{1:2}}}
{"ph":"i","ts":1}
"""
#: Numbers, times and ids as they may be written.
_NUMBERS = (
    "0.1 1.7976931348623157e308 5e-324 123456789012345678.5 9007199254740993.0 1e22 1e-7 12345678901234567890123e-5 "
    "1E5 -1.25e+3 NaN Infinity -Infinity 0.000001 1e999 1.5E-3 123e20 00 1.e5 -"
)
_TIMES = (
    '1e30 99999999999999999999 "x" null {} "1e5" 5.5e3 "-7.25" 1.5e-3 "" "9223372036854775.807"'
)
_IDS = (
    '"0x1f" "0xffffffffffffffff" "0x001f" "1a" 7 -7 1.5 "0xfffffffffffffffff" [1] "\\u0030" "0x" "0X1" '
    '18446744073709551615 {} true null "0xg"'
)
_PLACES = '{"local":"0x2"} {"global":3,} {"local":[1]} {"local":"x","global":1} {"lo\\u0063al":1} {"local"'
#: Where an event may end before it does.
_CUTS = (
    '"id2" "id2": "id2":{ "id2":{"loc "id2":{"local" "id2":{"local": "id2":{"local":1 "id2":{"local":1, "id2":[ '
    '"args": "args":{ "args":{"a "args":{"a" "args":{"a": "args":{"a":[ "args":{"a":[1 "args":{"a":[1, "args":{"a":1 '
    '"args":{"a":1, "args":{"a":"x "args":{"a":{"b "args":{"a":"\\u12 "args":{"a":tr "args":{"a":-" "x":[{ "x":{"y": "'
)
#: Characters of every length, and bytes that are none.
_SEQUENCES = (
    *(b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xe0\x9f\x80"),
    *(
        b"\xf4\x90\x80\x80",
        b"\xe1\x80",
        b"\xe1\x80a",
        b"\xf1\x80\x80a",
        b"\xf0\x8f\xbf\xbf",
        b"\xc1\x80",
    ),
)
#: Whole files, most of them damaged.
_TEXTS = (
    *(
        "[]",
        "{}",
        "\ufeff[]",
        f"[{_EVENT}",
        f"[{_EVENT},",
        f"[{_EVENT},]",
        f"[{_EVENT},nonsense",
        f"[{_EVENT}] more",
    ),
    f'{{"traceEvents":[{_EVENT}',
    f'{{"traceEvents":[{_EVENT}],"a":',
    f'{{"traceEvents":[{_EVENT}],"b":1,"traceEvents":[{_EVENT}]}}',
    f'{{"displayTimeUnit":"ns","otherData":{{"a":[1,null,1.5e3,"x"]}},"traceEvents":[{_EVENT}],"more":"t"}}',
    f'{{"stackFrames":{{"1":{{"name":"f","parent":"0"}}}},"samples":[{{"cpu":0,"ts":1}}],"traceEvents":[{_EVENT}]}}',
    f'{{"a":nonsense,"b":[1,],"traceEvents":[{_EVENT}],"c":tru}}',
    f'{{"environment":{{"a":"\\ud800"}},"traceEvents":[{_EVENT}]}}',
    f'{{"environment":{{"a":"b"}},"traceEvents":[{_EVENT}]}}',
    f'{{"traceEvents":{{}},"x":{"[" * 600}',
    '[1,2,{"ph":"i"',
    f"[{_EVENT},{_EVENT[:9]}rubbish{_EVENT[20:]},{_EVENT},{_EVENT}]",
    f'[{_EVENT},{_EVENT[:9]}","args":{{"x{_EVENT[20:]},{_EVENT}]',
    f'[{_EVENT},{{"ph":"M","name":"m","args":{{"a":{"[" * 512}{"]" * 512}}}}},{_EVENT}]',
    f"[{_EVENT},{_EVENT[:20]}\0\0\0\0,{_EVENT}]",
    f"[{_EVENT} {_EVENT},{_EVENT}:{_EVENT}]",
    f'[ {_EVENT} , {{"ph" : "i" ,\n"ts"\t: 1 , "args" : {{ "a" : [ 1 , 2 ] , }} }}\r\n]',
    f'[{_EVENT},{{"ph":"M","args":{{"a":[[[1]]],"b":\'x\'}}}},{_EVENT}]',
)
#: Headers of this converter's own files.
_HEADERS = (
    '{"clock":{"ticks_per_second":"1e99999999"}}',
    '{"clock":{"ticks_per_second":1e999}}',
    '{"clock":{"ticks_per_second":"0","epoch_ns":%s}}' % ("9" * 400),
    '{"clock":{"ticks_per_second":"19200000","decimals":9}}',
    '{"clock":{"ticks_per_second":"1000000000"},"offset":1e999}',
    '{"clock":{"ticks_per_second":"1000000000"},"offset":"5"}',
    '{"clock":{"ticks_per_second":"1000000000","decimals":3},"offset":9223372036854775807}',
    '{"clock":{"ticks_per_second":"1/1000000000000000000"}}',
    '{"clock":{"ticks_per_second":"30000/1001","epoch_ns":5}}',
    '{"version":1,"added":["bp","displayTimeUnit"],"environment":{"a":"b"},"members":{"a":1}}',
    "5",
    '{"version":2}',
)
#: What arguments are declared to be, and values that are such.
_DECLARED: tuple[tuple[Any, Any], ...] = (
    ("u64", "18446744073709551615"),
    ("u8", 200),
    ("i64", "0x1f"),
    ("i32", "-5"),
    ("f64", 1),
    ("f64", "NaN"),
    ("f32", 1.5),
    ("bool", True),
    ("string", "x"),
    ("bytes", "AAEC"),
    ("null", None),
    ("json", [1, "a"]),
    ("json", "text"),
    ("json", {"a": None}),
    ({"integer": "u64", "style": "HEXADECIMAL"}, "0x1f"),
    ({"integer": "u64", "style": "POINTER"}, 5),
    ({"array": "u64", "length": 2}, [1, "18446744073709551615"]),
    ({"array": "i64"}, []),
    ({"array": "bytes"}, ["AA=="]),
    ({"array": {"array": "u8"}}, [[1], [2, 3]]),
    ({"array": "json"}, [1, "a", {"b": 1}]),
    ({"array": "string"}, ["a", "0x1"]),
    ({"structure": [["x", "i64"], ["y", {"array": "f64"}]]}, {"x": "7", "y": [1, "NaN"]}),
    ({"structure": [["x", "bytes"]]}, {"x": "AA=="}),
    ({"array": {"structure": [["x", "bool"]]}}, [{"x": True}, {"x": False}]),
    ({"array": {"structure": [["x", "i64"], ["y", "null"]]}}, [{"x": 1, "y": None}]),
)
#: And such as are not.
_MISTAKEN: tuple[tuple[Any, Any], ...] = (
    ("u8", 300),
    ("u64", True),
    ("string", 5),
    ("string", "0x1f"),
    ("bytes", "no base 64"),
    ("null", 1),
    ("bool", "true"),
    ("f64", "x"),
    ({"array": "u64", "length": 3}, [1, 2]),
    ({"structure": [["z", "i64"]]}, {"x": 1}),
    ({"array": "bool"}, [1, "a"]),
    ({"array": {"structure": [["x", "bytes"]]}}, [{"y": "AA=="}]),
    ("nonsense", 1),
    ({"array": "u64", "length": -1}, [1]),
    ([], 1),
    ({"array": {"structure": [["x", "json"]]}}, [{"x": 1.5}, {"x": "a"}]),
    ({"array": {"array": "bytes"}}, [[1], ["x"]]),
)


def inputs() -> list[Files]:
    """Lists of events, and what this converter declares in its own."""
    texts = [*_lists(), *_TEXTS, *_own()]
    found = [{"": text.encode()} for text in texts]
    # Not UTF-8, and what UTF-16 looks like.
    events = (
        b'{"ph":"i","ts":1,"name":"%b","args":{"%b":1}}' % (text, text) for text in _SEQUENCES
    )
    found.append({"": b"[%b]" % b",".join(events)})
    broken = _EVENT.replace("}", ',"name":"\udcff\udce9","args":{"\udcc3":"\udced\udca0\udc80"}}')
    found.append({"": f"[{broken}]".encode("utf-8", "surrogateescape")})
    found.append({"": f"[{_EVENT}]".encode("utf-16")})
    return found


def _lists() -> Iterator[str]:
    for events in _LISTS.strip().split("\n\n"):
        yield f"[{','.join(events.splitlines())}]"
    for member, values in (("ts", _TIMES), ("dur", _TIMES), ("tts", _TIMES), ("id", _IDS)):
        one = '{"name":"a","cat":"c","ph":"%s","%s":%s}'
        phase = "b" if member == "id" else "X"
        yield f"[{','.join(one % (phase, member, value) for value in values.split())}]"
    numbers = [f'{{"ph":"i","ts":1,"args":{{"v":{number}}}}}' for number in _NUMBERS.split()]
    yield f"[{','.join(numbers)}]"
    for phase in "bNsf":
        places = (f'{{"ph":"{phase}","ts":1,"id2":{place}}}' for place in _PLACES.split())
        yield f"[{','.join(places)}"
    for end in _CUTS.split():
        yield f"[{_EVENT},{_EVENT[:-1]},{end}"
    # Whatever is cut off anywhere is what came before.
    whole = next(text for text in _LISTS.split("\n\n") if "flow_in" in text)
    cut = f"[{','.join(whole.splitlines())}]"
    yield from (cut[:end] for end in range(400, 1200, 23))


def _own() -> Iterator[str]:
    for header in _HEADERS:
        yield f'{{"traceconv":{header},"traceEvents":[{_EVENT}]}}'
    texts = []
    for types, value in _DECLARED:
        arguments = {"args": {"v": value}, "arg_types": [types]}
        texts.append(f"{_EVENT[:-1]},{json.dumps(arguments)[1:]}")
    yield f'{{"traceconv":{{"version":1}},"traceEvents":[{",".join(texts)}]}}'
    for types, value in _MISTAKEN:
        arguments = {"args": {"v": value}, "arg_types": [types]}
        yield f'{{"traceconv":{{"version":1}},"traceEvents":[{_EVENT[:-1]},{json.dumps(arguments)[1:]}]}}'
    switch = (
        '{"ph":"T","name":"Running","ts":%d,"dur":1,"pid":%d,"tid":%d,"event_pid":1,"event_tid":%s,"args":{"cpu":%d,"prev_tid":1,'
        '"prev_comm":"a","prev_prio":1,"prev_state":0,"next_tid":2,"next_comm":"b","next_prio":3}}'
    )
    switches = (switch % (ts, ts % 3, ts % 3, ts % 2 or "null", ts % 2) for ts in (1, 2, 5, 4, 9))
    native = '{"ph":"n","payload":"native \\u0000","args":{}},{"base64":"AAEC"},{"base64":"x"}'
    yield f'{{"traceconv":{{"version":1}},"traceEvents":[{",".join(switches)},{native}]}}'
