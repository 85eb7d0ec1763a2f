"""README's table of formats is that of the registry."""

import re
from pathlib import Path

from converter import FORMATS

README = Path(__file__).parents[1] / "README.md"


def table_of_formats():
    rows = [
        "| Format | Name | Suffixes | Variants | Read | Write |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for format in FORMATS:
        suffixes = " ".join(f"`{suffix}`" for suffix in format.suffixes)
        variants = " ".join(f"`+{variant}`" for variant in format.variants if variant)
        ways = ("yes" if way else "no" for way in (format.readable, format.writable))
        cells = (
            f"[{format.title}](docs/formats/{format.name}.md)",
            f"`{format.name}`",
            suffixes,
            variants,
            *ways,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def test_the_table_of_formats_is_that_of_the_registry():
    found = re.search(
        r"<!-- formats:begin -->\n(.*)\n<!-- formats:end -->", README.read_text(), re.DOTALL
    )
    assert found is not None
    assert found[1] == table_of_formats(), table_of_formats()


def test_every_format_has_a_page():
    for format in FORMATS:
        assert (README.parent / f"docs/formats/{format.name}.md").is_file(), format.name
