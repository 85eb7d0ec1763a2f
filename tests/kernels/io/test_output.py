"""Blocks of output are used again, but not while somebody has them."""

from converter.formats.fxt.writing.emit import Emitter
from converter.formats.fxt.writing.emit_provider import Provider
from converter.kernels.tables.strings import StringTable


def test_a_block_stays_as_it_is_while_somebody_has_it():
    emitter = Emitter(Provider(StringTable(), big_endian=False))
    held = []
    for number in range(20):
        emitter.put(bytes([number]) * 16)
        held.append(emitter.take())
    assert [bytes(block) for block in held] == [bytes([number]) * 16 for number in range(20)]
    assert all(block.readonly for block in held)
    part = held[3][4:8]
    del held
    for _ in range(20):
        emitter.put(b"\xff" * 16)
        emitter.take()
    assert bytes(part) == b"\x03" * 4


def test_a_block_outlives_its_emitter():
    emitter = Emitter(Provider(StringTable(), big_endian=False))
    emitter.put(b"12345678")
    block = emitter.take()
    del emitter
    assert bytes(block) == b"12345678"


def test_what_was_taken_does_not_come_again():
    emitter = Emitter(Provider(StringTable(), big_endian=False))
    emitter.put(b"12345678")
    emitter.take()
    assert emitter.size == 0
    assert bytes(emitter.take()) == b""
