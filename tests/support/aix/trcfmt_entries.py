"""Entries of hooks as templates see them, and templates applied to them."""

from converter.formats.aix.trcfmt import Entry, Environment, evaluate, parse


def words32(*words, hookdata=5, hook=0x500):
    """A hook of a 32-bit application with data words (TRCHKLnT)."""
    kind = {0: 9, 1: 0xA}.get(len(words), 0xE)
    head = (hook << 20 | kind << 16 | hookdata).to_bytes(4)
    return Entry(head + b"".join(word.to_bytes(4) for word in words), 32)


def words64(*words, hookdata=5, hook=0x5000):
    head = b"\x80\0" + (8 * len(words)).to_bytes(2) + hook.to_bytes(2) + hookdata.to_bytes(2)
    return Entry(head + b"".join(word.to_bytes(8) for word in words), 64)


def generic32(data, word=0, hook=0x500):
    return Entry((hook << 20 | 8 << 16 | len(data)).to_bytes(4) + word.to_bytes(4) + data, 32)


def generic64(data, word=0, hook=0x5000, subhook=5):
    head = b"\xc0\0" + len(data).to_bytes(2) + hook.to_bytes(2) + subhook.to_bytes(2)
    return Entry(head + word.to_bytes(8) + data, 64)


def report(body, entry=None, around=None, *, more="", level=""):
    """The report of an entry (the data at hand for 32 bits) by the template 500 with this body."""
    file = parse(f"{more}\n500 1.0 {level} {body}\n")
    assert not file.warnings
    return evaluate(file, 0x5000, entry or words32(1, 2, 3, 4, 5), around or Environment())


def text(body, entry=None, around=None, *, more="", level=""):
    """The text of a report that is whole."""
    made = report(body, entry, around, more=more, level=level)
    assert made.warning is None
    return made.text
