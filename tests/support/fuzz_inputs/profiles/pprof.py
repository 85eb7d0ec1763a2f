"""Profiles that no fixture is like: rare encodings, references to nothing, texts that come first."""

from __future__ import annotations

from support.fuzzing.corpus import Files
from support.inputs.protobuf_fields import numeric, sized, varint
from support.profiles.pprof_messages import Builder, Profile


def inputs() -> list[Files]:
    """Profiles as bytes."""
    made = Builder().types(("cpu", "nanoseconds"), ("bytes", "bytes"))
    mapping = made.mapping("/bin/a", "id", memory_start=2**64 - 1, memory_limit=1)
    names = [made.function(f"f{index}", "a.c") for index in range(4)]
    places = [
        made.location(2**63 + index, *[(name, index) for name in names[:index]], mapping=mapping)
        for index in range(4)
    ]
    for index in range(6):
        made.sample(
            places[: index % 4] * index, [index, -index], tid=index, k=str(index), n=(1, "b")
        )
    made.profile.comment.extend([1, 2, 3])
    whole = made.bytes()
    texts = Profile(string_table=made.profile.string_table).SerializeToString()
    made.profile.sample[0].location_id.append(77)
    made.profile.sample[1].value.append(5)
    made.profile.location[1].line[0].function_id = 99
    made.profile.default_sample_type = 10**6
    dangling = made.bytes()
    # Lists that are not packed, sizes with more bytes than they take, fields that are not known.
    types = sized(1, numeric(1, 1) + numeric(2, 2))
    sample = numeric(1, 1) + numeric(1, 2) + numeric(2, 5) + sized(3, numeric(1, 3) + numeric(3, 0))
    loose = sized(6, b"") + sized(6, b"cpu") + sized(6, b"ns") + sized(6, b"key")
    rare = types + sized(2, sample) + b"\x12\x83\x80\0" + sample[:3] + loose + numeric(99, 5)
    location = sized(4, numeric(1, 1)) + sized(4, numeric(1, 1) + varint(7 << 3 | 5) + b"1234")
    found = (whole, texts + whole, dangling, rare + location, whole[:-9], whole + b"\xff")
    return [{"": data} for data in found]
