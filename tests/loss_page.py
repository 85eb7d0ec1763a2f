"""Writes docs/losses.md: the losses of ten recordings in eight formats, and the table of all codes.

    python -m tests.loss_page [--write]

Without ``--write`` it prints the page.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import converter  # noqa: E402 - the path is set above
from converter.projection.loss_codes import LOSS_CODES  # noqa: E402
from converter.projection.loss_codes.entry import LossCode  # noqa: E402
from converter.projection.loss_codes.remedies import remedy_of  # noqa: E402
from converter.projection.loss_groups import grouped  # noqa: E402
from converter.projection.losses import LossClass  # noqa: E402

PAGE = ROOT / "docs/losses.md"
RECORDINGS = (
    *("trace_cmd/small.dat", "trace_cmd/markers.dat", "trace_cmd/lost.dat"),
    *("perfetto/timeline.pftrace", "perfetto/kernel_typed.pftrace", "chrome/features.json"),
    *("fxt/every-record-little.fxt", "ctf/ctf_small", "uftrace/rich", "aix/kernel-trace-64.aix"),
)
TARGETS = ("perfetto", "chrome", "fxt", "ctf", "trace_cmd", "uftrace", "lttng_legacy", "aix")
#: What a sentence has in place of its parameters.
_COUNT = re.compile(r"\{count(?::,)?\}|\{n\}")
_CHOICE = re.compile(r"\{(?:n:)?([^{}|]*)\|([^{}|]*)\}")
_NAME = re.compile(r"\{(\w+)(?::,)?\}")
_HEAD = """# Losses of real conversions

This page shows what ten recordings of `roundtrip_fixtures/` lose in eight formats, and lists every loss that traceconv
can report. [What did not fit](command/losses.md) says how to read, refuse and process them.
`python -m tests.loss_page --write` writes this page.

The classes are *shown* (a viewer does not show it, or shows it differently), *kept* (other programs find it in another
form) and *detail* (only tools of the input's format use it).
"""


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield _HEAD
    yield "## Conversions\n"
    for recording in RECORDINGS:
        yield f"### {recording}\n"
        for target in TARGETS:
            yield from conversion(recording, target)
            yield ""
    yield "## All losses\n"
    yield from codes()


def conversion(recording: str, target: str) -> Iterator[str]:
    """Yield the lines about one conversion."""
    with tempfile.TemporaryDirectory() as folder:
        report = converter.convert(
            ROOT / "roundtrip_fixtures" / recording, Path(folder, "out"), target_format=target
        )
    groups = grouped(report)
    yield f"**To {target}**" + ("" if groups else ": nothing is lost.")
    if groups:
        yield ""
    for group in groups:
        example = group.example
        first = "" if example is None else f" First: {_escaped(str(example))}."
        sentence = _escaped(group.sentence(6))
        remedy = (
            "" if group.loss_class is LossClass.DETAIL else f" {_escaped(remedy_of(group.code))}."
        )
        yield f"- *{group.loss_class}* `{group.code}`: {sentence}.{first}{remedy}"


def codes() -> Iterator[str]:
    """Yield the table of all codes."""
    yield "| Code | Class | Kind | Sentence |"
    yield "| --- | --- | --- | --- |"
    for code, entry in sorted(LOSS_CODES.items()):
        yield f"| `{code}` | {entry.default_class} | {entry.kind} | {_escaped(_sample(entry))} |"


def _sample(entry: LossCode) -> str:
    text = _CHOICE.sub(r"\2", _COUNT.sub("N", entry.sentence))
    text = text.replace("{items}", entry.item)
    return _NAME.sub(lambda found: found[1].upper(), text)


def _escaped(text: str) -> str:
    text = "".join(one if one.isprintable() else "\ufffd" for one in text)
    return re.sub(r"([\\|*<>\[\]_`])", r"\\\1", text)


def main() -> int:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write docs/losses.md")
    text = "\n".join(page()) + "\n"
    if parser.parse_args().write:
        PAGE.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
