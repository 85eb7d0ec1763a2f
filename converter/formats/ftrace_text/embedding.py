"""Embedded payloads in ftrace text: remarks at its end, in base64."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.lines.payload_remarks import PayloadRemarks

EMBEDDING: Final = PayloadRemarks("ftrace_text")
