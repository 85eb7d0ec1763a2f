"""What README, the pages of the documentation, and help print as commands."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from converter.cli.commands.table import COMMANDS

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

#: What a command begins with.
_PROGRAM = re.compile(
    r"(\$ )?(traceconv|python3?|pip|uftrace|trace-cmd|babeltrace2|trace_processor|perf|trcrpt|lttng"
    r"|bash|mypy|mkdocs|ruff|ssh|source|zcat|\.venv/bin/\S+)\s+\S"
)
#: What stands for something else in the form of a command.
_IS_FORM = re.compile(r"\b(IN|OUT|OUTDIR|COMMAND|A B|NAME|FORMAT)\b|\[")


def is_form(text):
    """Whether it is no command but the form of one, or nothing but its name."""
    words = text.split()
    if words[0] != "traceconv":
        return False
    command = COMMANDS.get(words[1])
    wants_more = command is not None and any(one.required for one in command.params)
    is_name = len(words) == 2 and (wants_more or words[1] in ("open", "view", "plot", "batch"))
    return bool(_IS_FORM.search(text)) or is_name


def _in_code(page):
    """The lines of a page's blocks, and what stands between backticks elsewhere."""
    text = re.sub(r"^```python\n.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    fenced = r"^```\w*\n(.*?)^```$"
    lines = [
        line
        for block in re.findall(fenced, text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    rest = re.sub(fenced, "", text, flags=re.MULTILINE | re.DOTALL)
    lines += re.findall(r"^    (.*)$", rest, re.MULTILINE)
    prose = re.sub(r"^    .*$", "", rest, flags=re.MULTILINE)
    return lines + re.findall(r"`([^`\n]+)`", prose)


@cache
def commands():
    """All commands, without their comments; each once."""
    lines = [line for page in PAGES for line in _in_code(page)]
    for command in COMMANDS.values():
        lines += (command.epilog or "").splitlines()
    lines += (ROOT / "converter" / "cli" / "help" / "traceconv.txt").read_text().splitlines()
    outputs = {line.strip() for example in examples() for line in example.printed}
    found = {}
    for line in lines:
        if line.strip() in outputs:
            continue
        text = re.split(r"  +[#a-z]", line.strip(), maxsplit=1)[0].strip()
        if _PROGRAM.match(text) and not is_form(text):
            found[text] = None
    return tuple(found)


@dataclass(frozen=True)
class Example:
    """A command of a page with its output: ``$ traceconv ...``, then the lines; ``...`` stands for any lines."""

    page: Path
    #: The line of the page that has the command, from 0, and the number of lines of the output.
    line: int
    command: str
    printed: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Return True if the output is `text`; spaces at both ends of lines do not count."""
        lines = (line.strip() for line in self.printed)
        pattern = "".join(
            r"(.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in lines
        )
        printed = "".join(line.strip() + "\n" for line in text.splitlines())
        return re.fullmatch(pattern, printed) is not None

    def replaced(self, text: str) -> list[str]:
        """Return the lines of the page with the output that `text` is, as long as before where it ends in ``...``."""
        lines = [line.rstrip() for line in text.splitlines()]
        if "..." in self.printed:
            lines = [*lines[: self.printed.index("...")], "..."]
        page = self.page.read_text().splitlines()
        first = self.line + 1
        page[first : first + len(self.printed)] = [f"    {line}".rstrip() for line in lines]
        return page


def examples() -> list[Example]:
    """Return the examples of all pages. A blank line within an output is part of it."""
    found = []
    for page in PAGES:
        lines = page.read_text().splitlines()
        for number, line in enumerate(lines):
            if not line.startswith("    $ traceconv "):
                continue
            end = number + 1
            while end < len(lines) and _goes_on(lines, end):
                end += 1
            printed = tuple(each[4:] for each in lines[number + 1 : end])
            found.append(Example(page, number, line.removeprefix("    $ "), printed))
    return found


def _goes_on(lines: list[str], at: int) -> bool:
    """Return True if a line belongs to the output before it."""
    if lines[at].startswith("    "):
        return not lines[at].startswith("    $ ")
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return not lines[at] and following.startswith("    ") and not following.startswith("    $ ")
