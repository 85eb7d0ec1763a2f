"""``python -m benchmarks``: cases against the formats' tools (`convert`), or with --quick against their own past."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import convert, instructions


def main() -> None:
    """Do what the arguments say."""
    if "--quick" not in sys.argv[1:]:
        convert.main()
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks --quick")
    parser.add_argument("--quick", action="store_true", required=True)
    parser.add_argument("--case", action="append", help="only cases with this in their name")
    parser.add_argument("--write", action="store_true", help="keep the figures, to compare with")
    parser.add_argument("--cache", type=Path, help="a folder where inputs are kept")
    options = parser.parse_args()
    if not instructions.run(options.case, write=options.write, cache=options.cache):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
