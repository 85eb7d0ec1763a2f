"""Two formats for tests of what is around formats: one holds everything, the other next to nothing.

Both write the canonical form of a trace behind a first line of their own.
"""

from converter.errors import TraceWarning, UnsupportedError
from converter.formats.descriptor import Format
from converter.ir.canonical import dump, load
from converter.ir.events import Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport

WHOLE = b"whole\n"
NARROW = b"narrow\n"
DAMAGED = b"damaged\n"


def narrow_capabilities(variant):
    """Instants with a name, on threads, and nothing else."""
    name = Field("name", StringClass(), Role.NAME)
    return Capabilities(kinds={Kind.INSTANT: KindSupport((name,), arguments=False)})


def reading(name, magic):
    def read(source):
        data = source.read(len(magic), source.size).decode()
        if data.startswith("fail"):
            raise UnsupportedError("made to fail", offset=len(magic))
        trace = load(data.removeprefix(DAMAGED.decode()))
        trace.format = name
        if data.startswith(DAMAGED.decode()):
            trace.warnings.append(TraceWarning(message="the tail is damaged"))
        return trace

    return read


def writing(magic):
    def write(trace, sink, variant):
        sink.write(magic)
        sink.write(f"{variant}\n".encode() if variant == "loud" else b"")
        sink.write(dump(trace).encode())

    return write


class FakeFormat(Format):
    """A format whose reader and writer are not in modules of their own."""

    __slots__ = ()

    def _function(self, module, name):
        magic = WHOLE if self.name == "whole" else NARROW
        return reading(self.name, magic) if module == "reading" else writing(magic)


FORMATS = (
    FakeFormat(
        name="whole",
        title="Everything",
        suffixes=(".whole",),
        spec="",
        variants=("quiet", "loud"),
        capabilities=narrow_capabilities,
        sniff=lambda head: head.startswith(WHOLE),
    ),
    FakeFormat(
        name="narrow_one",
        title="Next to nothing",
        suffixes=(".narrow", ".n"),
        spec="",
        variants=(),
        capabilities=narrow_capabilities,
        sniff=lambda head: head.startswith(NARROW),
    ),
    FakeFormat(
        name="closed",
        title="Neither way",
        suffixes=(".closed",),
        spec="",
        variants=(),
        capabilities=narrow_capabilities,
        sniff=lambda head: True,
        readable=False,
        writable=False,
    ),
)
