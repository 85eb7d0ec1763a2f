"""Files of simpleperf that no fixture is like: records that are cut, unknown, or refer to nothing."""

from __future__ import annotations

from support.fuzzing.corpus import Files
from support.inputs.protobuf_fields import numeric, sized
from support.profiles.simpleperf_messages import file_of, small
from support.profiles.simpleperf_messages import sized as with_size


def inputs() -> list[Files]:
    """Files, whole and cut."""
    records = small()
    whole = file_of(*records)
    entry = numeric(1, 2**64 - 1) + numeric(2, 2**32 - 1) + numeric(3, 2**64 - 2) + numeric(4, 9)
    sample = numeric(1, 2**64 - 1) + numeric(2, 2**64 - 5) + sized(3, entry) + sized(3, b"")
    sample += numeric(4, 2**64 - 1) + numeric(5, 99) + sized(6, b"")
    odd = [
        with_size(sized(1, sample)),
        with_size(sized(1, sample[:-3] + b"\xff")),
        with_size(sized(9, b"new")),
        with_size(b"\xff\xff"),
        with_size(sized(1, b"") + sized(6, numeric(2, 5))),
        with_size(sized(4, numeric(1, 7) + numeric(2, 2**64 - 1)) * 2),
        with_size(sized(2001, b"{}")),
        with_size(sized(5, sized(1, b"\xff") * 3)),
    ]
    found = (
        file_of(*records[6:], *records[:6]),
        file_of(*odd, *records),
        file_of(*records, end=b""),
        file_of(*records, end=bytes(4) + b"more"),
        file_of(),
        whole[:-20],
    )
    return [{"": data} for data in found]
