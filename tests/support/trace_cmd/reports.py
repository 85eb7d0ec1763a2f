"""Reports of trace.dat files: this package's, trace-cmd's, and what they say of single events."""

import re
import subprocess

from support.command.reports import reported
from support.trace_cmd.files import File, Kernel, format_text

from converter.formats.trace_cmd.reading.reader import read
from converter.formats.trace_cmd.report.lines import print_report
from converter.storage.opening import open_source

KALLSYMS = b"1000 T outer\n2000 T middle\n3000 t inner\n4000 T last\n5000 T end\n"


def ours(data):
    """What this package prints of a file."""
    return reported(print_report, read(open_source(data)))


def theirs(program, path):
    """What a version of trace-cmd prints of it."""
    done = subprocess.run([program, "report", "-t", path], capture_output=True, check=True)
    return done.stdout


def texts(number, name, fields, records, system="ftrace", print_fmt='"plain"', **file):
    """The texts that the report has for events of one class."""
    k = Kernel()
    text = format_text(name, number, fields, print_fmt)
    pages = k.page(10**9, *(k.record(1000, k.common(number, 42) + record) for record in records))
    data = File(k, {0: pages}, formats={system: [text]}, kallsyms=KALLSYMS, **file).version_7()
    lines = ours(data).split(b"\n", 1)[1]
    parts = re.split(rb"(?m)^ *saved name-42    \[000\] \.{5}     1\.\d{9}: ", lines)
    return [part.split(b":", 1)[1].strip().decode() for part in parts[1:]]
