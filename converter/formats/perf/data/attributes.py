"""Event attributes: what `perf_event_attr` says of a sampled event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from converter.errors import TraceError
from converter.formats.ftrace.layout import parse
from converter.formats.perf.data.layout import (
    ATTRIBUTE_SIZES,
    AttributeFlag,
    EventType,
    SampleType,
    layouts,
)
from converter.formats.perf.event_names import event_name, modifiers

_FIELD: Final = "perf_event_attr"
#: Larger ones are damaged; the kernel's own limit is a page.
_PAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class Attribute:
    """A `perf_event_attr` of any size: what an older version lacks is 0.

    `flags` has the first flag in its lowest bit in either byte order. `data` are the bytes in the file.
    """

    data: bytes = field(repr=False)
    type: int
    size: int
    config: int
    sample_period: int
    sample_type: int
    read_format: int
    flags: int
    bp_type: int = 0
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    clockid: int = 0
    sample_regs_intr: int = 0

    @classmethod
    def parse(cls, data: bytes, offset: int, *, big_endian: bool) -> Self:
        """Return the attribute at the start of `data`, which is at an offset of the file.

        Raises:
            TraceError: its size is none, or more than there is.

        """
        layout = layouts(big_endian)
        head = parse(layout.attribute, data[:64], offset, _FIELD)
        # Recordings of the first perf have no size.
        size = head.size or ATTRIBUTE_SIZES[0]
        if not ATTRIBUTE_SIZES[0] <= size <= min(len(data), _PAGE) or size % 8:
            expected = f"{ATTRIBUTE_SIZES[0]} to {min(len(data), _PAGE)}, a multiple of 8"
            raise TraceError(offset=offset, field=f"{_FIELD}.size", expected=expected, found=size)
        values = dict(head)
        at = ATTRIBUTE_SIZES[0]
        for end, structure in layout.attribute_extensions.items():
            if end > size:
                break
            values.update(parse(structure, data[at:end], offset + at, _FIELD))
            at = end
        flags = values["flags"]
        if big_endian:
            flags = int(f"{flags:064b}"[::-1], 2)
        names = cls.__slots__[1:]
        known = {name: values[name] for name in names if name in values} | {"flags": flags}
        return cls(data[:size], **(known | {"size": size}))

    def has(self, flag: AttributeFlag) -> bool:
        """Return True if a flag is set."""
        return bool(self.flags >> flag & 1)

    @property
    def is_tracepoint(self) -> bool:
        """True if the event is a tracepoint of the kernel, whose number is `config`."""
        return self.type == EventType.TRACEPOINT

    @property
    def constant_period(self) -> int | None:
        """The period of samples that do not say theirs; None where it varies."""
        if self.sample_type & SampleType.PERIOD or self.has(AttributeFlag.FREQ):
            return None
        return self.sample_period

    @property
    def name(self) -> str:
        """The name that perf derives from the numbers, where the recording has none."""
        name = event_name(self.type, self.config)
        if self.type == EventType.BREAKPOINT:
            kinds = "".join(letter for bit, letter in enumerate("rwx") if self.bp_type >> bit & 1)
            name = f"mem:0x{self.config1:x}:{kinds}"
        if not name:
            return f"type {self.type}, config 0x{self.config:x}"
        precision = self.has(AttributeFlag.PRECISE_IP_1) + 2 * self.has(AttributeFlag.PRECISE_IP_2)
        return name + modifiers(
            user=not self.has(AttributeFlag.EXCLUDE_USER),
            kernel=not self.has(AttributeFlag.EXCLUDE_KERNEL),
            hypervisor=not self.has(AttributeFlag.EXCLUDE_HV),
            precision=precision,
            host=not self.has(AttributeFlag.EXCLUDE_HOST),
            guest=not self.has(AttributeFlag.EXCLUDE_GUEST),
        )
