"""What a script that parses a whole trace costs: the tools of formats that have none of their own here.

python -m benchmarks.parsers json FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def chrome(data: bytes) -> None:
    """Parse with orjson, where it is installed, or with Python's own parser."""
    try:
        from orjson import loads
    except ImportError:
        loads = json.loads
    loads(data)


if __name__ == "__main__":
    {"json": chrome}[sys.argv[1]](Path(sys.argv[2]).read_bytes())
