"""The metadata of new recordings: texts of the kernel for records that were made from columns, section by section."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.kernel_events import KernelEvents
from converter.formats.ftrace.kernel_formats import header_texts
from converter.formats.ftrace.layout import SectionId, recording_layouts

_FTRACE: Final = "ftrace"


def metadata_sections(records: KernelEvents, page_size: int) -> dict[SectionId, bytes]:
    """Return the sections of all that was written so far, in the order in which trace.dat and perf.data have them."""
    layout = recording_layouts(False)
    page, event = header_texts(page_size)
    own = records.formats.get(_FTRACE, [])
    systems = {name: texts for name, texts in records.formats.items() if name != _FTRACE}
    formats = layout.u32.build(len(systems)) + b"".join(
        name.encode("utf-8", "surrogateescape")
        + b"\0"
        + layout.u32.build(len(texts))
        + _texts(texts)
        for name, texts in systems.items()
    )
    return {
        SectionId.HEADER_INFO: layout.header_info.build({"page": page, "event": event}),
        SectionId.FTRACE_EVENTS: layout.u32.build(len(own)) + _texts(own),
        SectionId.EVENT_FORMATS: formats,
        SectionId.KALLSYMS: layout.short_text.build(records.symbols()),
        SectionId.PRINTK: layout.short_text.build(b""),
        SectionId.CMDLINES: layout.long_text.build(records.command_lines()),
    }


def _texts(texts: list[bytes]) -> bytes:
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)
