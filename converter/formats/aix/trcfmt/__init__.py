"""AIX trace templates: the language of /etc/trcfmt, which defines the fields and the report text of each hook.

The document is IBM's "Example Trace Format File" (AIX documentation, Kernel Extensions and Device Support). A file is
parsed (`parse`), and its templates are applied to entries (`evaluate`), compiled to columns (`layout`), or printed.
"""

from __future__ import annotations

from converter.formats.aix.trcfmt.columns import StaticField, layout
from converter.formats.aix.trcfmt.entry import Entry, Environment, Report, Value
from converter.formats.aix.trcfmt.evaluator import evaluate, raw_words
from converter.formats.aix.trcfmt.files import Stanza, TemplateFile, parse
from converter.formats.aix.trcfmt.model import Level, Template, digits_of
from converter.formats.aix.trcfmt.names import names_of_hookdata
from converter.formats.aix.trcfmt.printer import print_template

__all__ = [
    "Entry",
    "Environment",
    "Level",
    "Report",
    "Stanza",
    "StaticField",
    "Template",
    "TemplateFile",
    "Value",
    "digits_of",
    "evaluate",
    "layout",
    "names_of_hookdata",
    "parse",
    "print_template",
    "raw_words",
]
