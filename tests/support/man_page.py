"""The manual page of the command, made of what click knows of it."""

import click

from converter.cli.commands.table import COMMANDS


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
        f".SH EXAMPLES\n{_examples(convert.epilog or '')}",
        *(f".PP\n{_examples(one.epilog or '')}" for one in commands.values() if one.epilog),
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
