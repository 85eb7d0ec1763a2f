"""Reads raw AIX trace streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError, note
from converter.formats.aix.entries.prescan import Head, Prescan, prescan, read_head
from converter.formats.aix.entries.scan import FORM_BITS
from converter.formats.aix.entries.streams import (
    TEMPLATES_SUFFIX,
    Stream,
    companions,
    names_of,
    read_companion,
    warn_of,
)
from converter.formats.aix.layout import MAGIC, OWN_START_32
from converter.formats.aix.reading.batches import Decoding, batches
from converter.formats.aix.reading.native_classes import native_class
from converter.formats.aix.reading.tables import add_declared, add_native
from converter.ir.events import Batch
from converter.ir.trace import ClockDomain, Trace
from converter.storage.opening import open_source
from converter.storage.source import Source

if TYPE_CHECKING:
    from converter.formats.aix.trcfmt import TemplateFile

#: The template file that AIX ships with a trace.
TEMPLATE_FILE: Final = "trace.fmt"
_BITS: Final = {"64": 64, "32": 32}


def read(source: Source, *, variant: str | None = None, trcfmt: str | None = None) -> Trace:
    """Open a raw stream (`trace -o -`, `trcrpt -r`), or the text of a report.

    Args:
        source: the file; files of single CPUs in its folder (its name, a hyphen and a number) are read with it.
        variant: "64" or "32"; a 32-bit stream cannot be recognized, so that it must be named.
        trcfmt: path of a template file; the default is the file with the trace's name and .trcfmt, or else
            trace.fmt, in the trace's folder.

    Raises:
        TraceError: the source is not a raw stream, or no part of it is usable.
        UnsupportedError: it is a trace log file as written by the trace daemon.

    """
    try:
        head = source.read(0, 4096)
        is_wide = head.startswith(MAGIC)
        if variant is None and head.startswith(OWN_START_32):
            variant = "32"
        if variant is None and not is_wide:
            from converter.formats.aix.reading import report_text

            if report_text.sniff(head):
                return report_text.read_report(source)
        if variant == "64" or (variant is None and not is_wide):
            _check_magic(head)
        if variant is not None and variant not in _BITS:
            raise TraceError("no such variant", expected="64 or 32", found=variant)
        if variant == "32" and is_wide:
            raise TraceError("this is a 64-bit stream", expected="a 32-bit stream", found=head[:4])
        bits = 64 if is_wide else 32
        return _Reader(source, bits, trcfmt).trace
    except TraceError as error:
        raise error.within(format="aix", path=source.name) from error


def _check_magic(head: bytes) -> None:
    if not head.startswith(MAGIC):
        raise UnsupportedError(
            "no raw stream of a 64-bit kernel; a log file of the trace daemon is not documented, and is made one by "
            "'trcrpt -r -o OUTPUT FILE'; a raw stream of a 32-bit kernel has no mark and is read by -f aix+32",
            offset=0,
            field="magic",
            expected=MAGIC.hex(),
            found=head[:4].hex() or "an empty file",
        )


def _templates_text(source: Source, path: str | None, *, own: bool) -> bytes | None:
    if path is None:
        # The stream itself declares the meaning of its user hooks.
        with_name = f"{os.path.basename(source.name)}{TEMPLATES_SUFFIX}"
        named = None if own else read_companion(source, with_name)
        return read_companion(source, TEMPLATE_FILE) if named is None else named
    with open_source(path) as file:
        return file.read(0, file.size)


class _Reader:
    """A trace being read. The prescan runs when batches are first requested."""

    def __init__(self, source: Source, bits: int, trcfmt: str | None) -> None:
        stream = Stream(source, bits)
        self._head = read_head(stream)
        templates = _templates_text(source, trcfmt, own=self._head.own)
        self._streams = [stream] if self._head.own else companions(source, bits)
        self._templates = _parsed(templates)
        self._decoding: Decoding | None = None
        self._done = 0
        self.trace = Trace(
            "aix",
            variant=str(bits),
            clock=_clock(self._head),
            make_batches=self._batches,
            progress=lambda: (self._done, sum(each.source.size for each in self._streams)),
            describe=None if self._templates is None else self._describe,
        )
        self.trace.source_batches = self.trace.make_batches
        self._sidecar = self.trace.sidecar["aix"] = {
            "bits": bits,
            "files": names_of(self._streams),
            "own": self._head.own,
            "streams": self._streams,
        }
        if self._head.own:
            self.trace.clock_domains = self._head.declarations.clock_domains
            self.trace.environment = self._head.declarations.environment
        if self._head.conversion is not None:
            self._sidecar["conversion"] = list(self._head.conversion)
        if templates is not None:
            self._sidecar["trcfmt"] = templates
        if self._templates is not None:
            note(self.trace.warnings, *self._templates.warnings)

    def _prepare(self) -> Decoding:
        found = prescan(self._streams, own=self._head.own)
        warn = partial(warn_of, self.trace, self._streams[0].source.name)
        for error in found.damage:
            warn(error)
        if self._head.own:
            if found.declarations.damaged or not found.declarations.tables_hold_together():
                raise TraceError(
                    "the stream's own declarations are damaged",
                    format="aix",
                    path=self._streams[0].source.name,
                )
            add_declared(self.trace, found.declarations)
        own_classes = len(self.trace.event_classes)
        declared = [
            native_class(form, self._streams[0].bits, self._templates)
            for form in found.forms.found(0)
        ]
        class_of_form = [self.trace.add_class(event_class) for event_class, _ in declared]
        self._sidecar["hooks"] = [form >> FORM_BITS for form in found.forms.found(0)]
        return Decoding(
            trace=self.trace,
            streams=self._streams,
            own=self._head.own,
            forms=found.forms,
            class_of_form=np.array(class_of_form, np.int32),
            class_of_own=np.arange(own_classes, dtype=np.int32),
            thread_of_task=self._native_threads(found),
            nodes=[found.declarations.classes[number][1] for number in range(own_classes)],
            gathers={
                number: gathers
                for number, (_, gathers) in zip(class_of_form, declared, strict=True)
            },
            warn=warn,
        )

    def _native_threads(self, found: Prescan) -> NDArray[np.int32]:
        return add_native(self.trace, found)

    def _batches(self) -> Iterator[Batch]:
        if self._decoding is None:
            self._decoding = self._prepare()
        delivered = False
        self._done = 0
        for batch, done in batches(self._decoding):
            delivered = delivered or len(batch) > 0
            self._done = done
            yield batch
        if not delivered and self.trace.warnings:
            damage = next((one for one in self.trace.warnings if one.offset is not None), None)
            if damage is not None:
                raise damage.to_error()

    def _describe(self, batch: Batch) -> Callable[[int], str | None]:
        """Return the texts that the user's templates print for the events of a batch."""
        from converter.formats.aix.reading.event_texts import texts_of

        assert self._templates is not None
        return texts_of(batch, self.trace, self._streams[0].bits, self._templates)


def _parsed(templates: bytes | None) -> TemplateFile | None:
    if templates is None:
        return None
    from converter.formats.aix.trcfmt import parse

    return parse(templates)


def _clock(head: Head) -> ClockDomain:
    if head.own and head.declarations.clock is not None:
        return head.declarations.clock
    rate: Any = head.ticks_per_second
    return ClockDomain("ns" if rate == 1_000_000_000 else "timebase", rate)
