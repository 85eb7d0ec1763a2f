"""What README, the pages of the documentation, and help print as commands."""

import re
from functools import cache
from pathlib import Path

from converter.cli.commands.table import COMMANDS

ROOT = Path(__file__).parents[2]
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
    found = {}
    for line in lines:
        text = re.split(r"  +[#a-z]", line.strip(), maxsplit=1)[0].strip()
        if _PROGRAM.match(text) and not is_form(text):
            found[text] = None
    return tuple(found)


def examples():
    """Commands with what they print: ``$ traceconv ...``, then what appears; ``...`` stands for any lines."""
    found = []
    for page in PAGES:
        lines = page.read_text().splitlines()
        for number, line in enumerate(lines):
            if not line.startswith("    $ traceconv "):
                continue
            printed = []
            for following in lines[number + 1 :]:
                if not following.startswith("    "):
                    break
                printed.append(following[4:])
            found.append((line.removeprefix("    $ "), printed))
    return found
