"""The manual page of the command, made of what click knows of it."""

import click

from converter.cli.commands.table import COMMANDS

_STATUS = {
    "0": "Done.",
    "1": "The input is bad, or cannot be converted; check: it is damaged; diff and roundtrip: there are differences.",
    "2": "Wrong usage; nothing was read.",
    "3": "Refused by --strict: something would be lost.",
    "4": "The input is damaged, and no event of it can be read.",
    "128+N": "Ended by signal N, such as 130 for Ctrl-C. No output is left.",
}
_ENVIRONMENT = {
    "TMPDIR": "Folder of temporary files.",
    "NO_COLOR": "Messages have no colours.",
    "COLUMNS": "Width of help and tables.",
    "TRACECONV_NO_SYNC": "If set: do not wait until outputs are on the disk, as --no-sync.",
    "TRACECONV_TRACEBACK": "If set: errors show where in traceconv they were raised, for bug reports.",
}
_FILES = {
    ".traceconv-*.tmp": "An output that is being written, next to its final name. It is removed when the command ends.",
    ".traceconv-batch.jsonl": "The record of traceconv batch in its output folder.",
}


def _terms(terms: dict[str, str]) -> str:
    return "\n".join(f".TP\n.B {_escaped(name)}\n{_escaped(text)}" for name, text in terms.items())


def man_page() -> str:
    """Its text, in the macros of man(7)."""
    convert = COMMANDS["convert"]
    commands = {name: command for name, command in COMMANDS.items() if command is not convert}
    parts = [
        '.TH TRACECONV 1 "" traceconv "User Commands"',
        ".SH NAME\ntraceconv \\- convert between trace formats, both ways",
        f".SH SYNOPSIS\n.B traceconv\n{_escaped(_usage(convert))}",
        *(f".br\n.B traceconv {name}\n{_escaped(_usage(one))}" for name, one in commands.items()),
        f".SH DESCRIPTION\n{_described(convert)}",
        f".SH OPTIONS\n{_options(convert)}",
        ".SH COMMANDS",
        *(f".SS {name}\n{_described(one)}\n{_options(one)}" for name, one in commands.items()),
        f".SH EXIT STATUS\n{_terms(_STATUS)}",
        f".SH ENVIRONMENT\n{_terms(_ENVIRONMENT)}",
        f".SH FILES\n{_terms(_FILES)}",
        f".SH EXAMPLES\n{_examples(convert.epilog or '')}",
        *(f".PP\n{_examples(one.epilog or '')}" for one in commands.values() if one.epilog),
        ".SH SEE ALSO\n.BR trace\\-cmd (1),\n.BR babeltrace2 (1),\n.BR uftrace (1)",
    ]
    return "\n".join(parts) + "\n"


def _usage(command: click.Command) -> str:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    return " ".join(
        ["[OPTIONS]", *(a.make_metavar() if not a.metavar else a.metavar for a in arguments)]
    )


def _described(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n.PP\n".join(_escaped(" ".join(text.split())) for text in paragraphs)


def _options(command: click.Command) -> str:
    lines = []
    for option in command.params:
        if isinstance(option, click.Option):
            names = ", ".join(option.opts)
            value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
            if option.metavar and option.metavar.startswith("["):
                value = option.metavar
            lines.append(f".TP\n.B {_escaped(names + value)}\n{_escaped(option.help or '')}")
    return "\n".join(lines)


def _examples(epilog: str) -> str:
    text = epilog.replace("\b\n", "").strip()
    return f".nf\n{_escaped(text)}\n.fi"


def _escaped(text: str) -> str:
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    # A line that begins so would be a macro.
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)
