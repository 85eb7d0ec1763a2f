"""Draws recordings of perf: attributes with any parts of samples, and samples with the values that these have."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from support.profiles import perf_files
from support.profiles.perf_files import IDENTIFIER, IP, SAMPLE, TIME, USER, Maker

_WEIGHT, _WEIGHT_STRUCT, _HW_INDEX = 1 << 14, 1 << 24, 1 << 17
#: Parts of one word, in their order before and after those of variable size, with the fields that they are.
_FIRST = (("addr", 3), ("id", 6), ("stream_id", 9))
_LAST = (("phys_addr", 19), ("cgroup", 21), ("data_page_size", 22), ("code_page_size", 23))


class Drawn(NamedTuple):
    """A recording, and of each of its samples the time (-1: none), the tid, and the values of its fields."""

    data: bytes
    samples: list[tuple[int, int, dict[str, Any]]]


class _Event(NamedTuple):
    sample_type: int
    read_format: int
    branches: int
    registers: int


def drawn(seed: int) -> Drawn:
    """Return a recording with some samples of one event, or of two."""
    random = Random(seed)
    make = Maker(random.choice("<>"))
    sample_type = random.getrandbits(25) & random.choice([-1, random.getrandbits(25)]) | IP
    if sample_type & _WEIGHT:
        sample_type &= ~_WEIGHT_STRUCT
    two = random.random() < 0.5
    if two:
        sample_type |= IDENTIFIER
    event = _Event(
        sample_type,
        random.getrandbits(5),
        _HW_INDEX * random.getrandbits(1),
        random.choice([0, 0b101, (1 << 24) - 1]),
    )
    attributes = [
        make.attribute(
            sample_type,
            config=config,
            flags=0,
            read_format=event.read_format,
            branches=event.branches,
            registers=event.registers,
        )
        for config in range(1 + two)
    ]
    records, samples = b"", []
    for number in range(5):
        body, values, tid = _sample(make, random, event, 1 + random.randrange(1 + two), number + 1)
        records += make.record(SAMPLE, body, USER)
        samples.append((number + 1 if sample_type & TIME else -1, tid, values))
    events = [(attribute, [number + 1]) for number, attribute in enumerate(attributes)]
    if random.random() < 0.3:
        heads = [make.record(perf_files.ATTR, one + make.words(*ids)) for one, ids in events]
        return Drawn(make.pipe(b"".join(heads) + records), samples)
    return Drawn(make.file(events, records, version=1 if random.random() < 0.2 else 2), samples)


def _sample(
    make: Maker, random: Random, event: _Event, id: int, ts: int
) -> tuple[bytes, dict[str, Any], int]:
    """Return the body of a sample, its values, and its tid (-1: none)."""
    values: dict[str, Any] = {}
    body, tid = b"", -1

    def has(bit: int) -> bool:
        return bool(event.sample_type >> bit & 1)

    def word() -> int:
        return random.getrandbits(random.choice([0, 7, 31, 63]))

    def words(count: int) -> list[int]:
        return [word() for _ in range(count)]

    if has(16):
        body += make.words(id)
    values["ip"] = word()
    body += make.words(values["ip"])
    if has(1):
        tid = random.randrange(1, 4)
        body += make.task(1, tid)
    if has(2):
        body += make.words(ts)
    for name, bit in _FIRST:
        if has(bit):
            values[name] = id if bit == 6 else word()
            body += make.words(values[name])
    if has(7):
        body += make.pack("II", random.randrange(4), 0)
    if has(8):
        values["weight"] = random.getrandbits(40)
        body += make.words(values["weight"])
    else:
        # The period of the attribute.
        values["weight"] = 1
    if has(4):
        values["read"] = _read(random, event.read_format, words)
        body += make.words(*values["read"])
    if has(5):
        chain = [perf_files.USER_MARK, *words(random.randrange(4))]
        body += make.words(len(chain), *chain)
    if has(10):
        values["raw"] = random.randbytes(4 + 8 * random.randrange(3))
        body += make.pack("I", len(values["raw"])) + values["raw"]
    if has(11):
        branches = [words(3) for _ in range(random.randrange(3))]
        body += make.words(len(branches))
        if event.branches:
            values["brstack_index"] = word()
            body += make.words(values["brstack_index"])
        body += b"".join(make.words(*one) for one in branches)
        names = ("from", "to", "flags")
        values["brstack"] = [list(zip(names, one, strict=True)) for one in branches]
    for name, bit in (("uregs", 12), ("ustack", 13), ("weight", 14), ("iregs", 18)):
        if bit in (12, 18) and has(bit):
            values[f"{name}_abi"] = abi = random.randrange(3)
            values[name] = words(event.registers.bit_count() if abi else 0)
            body += make.words(abi, *values[name])
        elif bit == 13 and has(bit):
            values[name] = random.randbytes(8 * random.randrange(3))
            values["ustack_size"] = word() if values[name] else 0
            size = [values["ustack_size"]] if values[name] else []
            body += make.words(len(values[name])) + values[name] + make.words(*size)
        elif bit == 14:
            body += _weights(make, random, has, word, values)
    for name, bit in _LAST:
        if has(bit):
            values[name] = word()
            body += make.words(values[name])
    if has(20):
        values["aux"] = random.randbytes(8 * random.randrange(3))
        body += make.words(len(values["aux"])) + values["aux"]
    return body, values, tid


def _weights(make: Maker, random: Random, has: Any, word: Any, values: dict[str, Any]) -> bytes:
    """Return the weight, the source of the data and the transaction, which stand between the registers."""
    body = b""
    if has(14):
        values["local_weight"] = word()
        body += make.words(values["local_weight"])
    elif has(24):
        parts = {"local_weight": 32, "ins_lat": 16, "retire_lat": 16}
        values |= {name: random.getrandbits(bits) for name, bits in parts.items()}
        found = [values[name] for name in parts]
        # One word, whose lowest bits are the first part.
        body += make.words(found[0] | found[1] << 32 | found[2] << 48)
    for name, bit in (("data_src", 15), ("transaction", 17)):
        if has(bit):
            values[name] = word()
            body += make.words(values[name])
    return body


def _read(random: Random, form: int, words: Any) -> list[int]:
    """Return counts of an event, or of a group."""
    times = (form & 1) + (form >> 1 & 1)
    each = 1 + (form >> 2 & 1) + (form >> 4 & 1)
    if not form & 8:
        return words(1 + times + each - 1)
    count = random.randrange(3)
    return [count, *words(times + count * each)]
