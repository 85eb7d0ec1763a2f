"""``python -m benchmarks``: cases against the formats' tools (`convert`), with --quick against their own past, with
--cores on as many processors.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import convert, cores, instructions


def main() -> None:
    """Do what the arguments say."""
    if any(argument.startswith("--cores") for argument in sys.argv[1:]):
        _on_cores()
    elif "--quick" in sys.argv[1:]:
        _count()
    else:
        convert.main()


def _count() -> None:
    """Count instructions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --quick")
    parser.add_argument("--quick", action="store_true", required=True)
    parser.add_argument("--case", action="append", help="only cases with this in their name")
    parser.add_argument("--write", action="store_true", help="keep the figures, to compare with")
    parser.add_argument("--cache", type=Path, help="a folder where inputs are kept")
    options = parser.parse_args()
    if not instructions.run(options.case, write=options.write, cache=options.cache):
        raise SystemExit(1)


def _on_cores() -> None:
    """Measure and simulate numbers of processors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --cores")
    parser.add_argument("--cores", required=True, help="numbers of processors: 1,2,4,16,64")
    parser.add_argument("--case", action="append", help="only cases with this in their name")
    parser.add_argument("--megabytes", type=int, default=256, help="size of the inputs")
    parser.add_argument("--input", type=Path, help="a file to use in place of generated ones")
    parser.add_argument("--runs", type=int, default=3, help="runs, of which the median counts")
    parser.add_argument("--cache", type=Path, help="a folder where inputs are kept")
    options = parser.parse_args()
    cores.run(
        [int(count) for count in options.cores.split(",")],
        names=options.case,
        megabytes=options.megabytes,
        given=options.input,
        runs=options.runs,
        cache=options.cache,
    )


if __name__ == "__main__":
    main()
