"""Recordings of perf that no fixture is like: both byte orders, pipes, compressed ones, and those of this converter."""

from __future__ import annotations

from support.fuzzing.corpus import Files
from support.profiles.perf_files import (
    COMPRESSED,
    FINISHED_ROUND,
    FORK,
    KERNEL_MARK,
    LOST,
    USER_MARK,
    USUAL,
    Maker,
)

_CALLCHAIN = 1 << 5


def _records(make: Maker) -> bytes:
    """Names, a mapping, samples with call chains in the kernel and in a program, a fork and lost events."""
    chain = [KERNEL_MARK, 0xFFFFFFFF81000010, USER_MARK, 0x1010, 0x1020]
    return b"".join(
        [
            make.comm(5, 5, b"task"),
            make.mmap(5, 0x1000, 0x1000, 0x4000, b"/bin/x"),
            make.sample(1000, 5, 5, 0x1010, chain=chain),
            make.record(FINISHED_ROUND),
            make.record(FORK, make.task(6, 5) + make.task(6, 5) + make.words(1500)),
            make.sample(2000, 6, 6, 0x1020, chain=[]),
            make.record(LOST, make.words(1, 3)),
        ]
    )


def inputs() -> list[Files]:
    """Recordings, each whole, and one with a cut end."""
    import zstandard

    found: list[Files] = []
    for order in "<>":
        make = Maker(order)
        event = make.attribute(USUAL | _CALLCHAIN, flags=0)
        data = _records(make)
        found.append(
            {
                "": make.file(
                    [(event, [1])], data, {3: make.pack("I", 64) + b"host".ljust(64, b"\0")}
                )
            }
        )
        head = make.record(64, event + make.words(1))
        found.append({"": make.pipe(head + data)})
        packed = make.record(COMPRESSED, zstandard.ZstdCompressor().compress(data))
        found.append({"": make.file([(event, [1])], packed)})
    whole = found[0][""]
    return [*found, {"": whole[:-90]}, {"": _of_this_converter()}]


def _of_this_converter() -> bytes:
    from support.profiles.perf_script import written

    from converter.fixtures import synthetic_trace

    return written(synthetic_trace("sched,objects", 24, seed=1))[0]
