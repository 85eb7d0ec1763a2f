"""The text of mac80211's event about changes of a network interface."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.plugins.event_fields import Emit, EventFields, decimal
from converter.formats.ftrace.plugins.report_context import Maker, ReportContext
from converter.printing import program as op
from converter.printing.code import Form

#: Further lines begin at the column of event texts.
_NEXT_LINE: Final = b"\n" + b" " * 65
#: The lines after the first; fields in hexadecimal end with `#`.
_LINES: Final = (
    "assoc aid cts shortpre shortslot dtimper ",
    "bcnint assoc_cap# basic_rates# enable_beacon",
    "ht_operation_mode",
)


def _bss_info_changed(fields: EventFields, _: ReportContext) -> Emit | None:
    code, interface = fields.code, fields.number("vif_type")
    if interface is None:
        return None

    def name(field: str) -> None:
        column = fields.text(field)
        if column is None:
            code.literal(f"NOTFOUND:{field}".encode())
        else:
            code.text_of(column, 1)

    def value(field: str) -> None:
        known = fields.number(field.removesuffix("#"))
        if known is None:
            return
        code.literal(f"{field.removesuffix('#')}:".encode())
        if field.endswith("#"):
            known()
            code.add(op.NUMBER, code.form(Form("#", bits=32, conversion="x")))
        else:
            decimal(code, known, 32, signed=True)

    def text() -> None:
        name("wiphy_name")
        code.literal(b" vif:")
        name("vif_name")
        code.literal(b"(")
        decimal(code, interface, 32, signed=True)
        code.literal(b")")
        for line in _LINES:
            code.literal(_NEXT_LINE)
            for position, field in enumerate(line.split(" ")):
                code.literal(b" " if position else b"")
                value(field)

    return text


WIRELESS_TEXTS: Final[dict[tuple[str, str], Maker]] = {
    ("mac80211", "drv_bss_info_changed"): _bss_info_changed,
}
