"""What the site needs beyond the pages as they are read in the repository."""

import re
from typing import Any

_SOURCE = "https://github.com/traceconv/traceconv/blob/main/"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links that lead out of docs/ are to the repository."""
    up = "../" * (page.file.src_uri.count("/") + 1)
    return re.sub(rf"\]\({re.escape(up)}(?!\.\./)", f"]({_SOURCE}", markdown)
