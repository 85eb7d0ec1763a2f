"""Embedded payloads in the text of perf script: in its last line, which is a remark, in base64."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.lines.payload_remarks import PayloadRemarks

# A carriage return separates them: they are one line, which has no end.
EMBEDDING: Final = PayloadRemarks("perf_script", b"\r")
