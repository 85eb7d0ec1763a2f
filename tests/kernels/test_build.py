"""What a compiled module is made of: it is compiled again when that changes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("setuptools")

from converter.kernels import build

ROOT = Path(__file__).parent.parent.parent
KERNELS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "converter").rglob("*.pyx"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_declarations_of_a_kernel_are_those_that_it_names(kernel, monkeypatch):
    monkeypatch.chdir(ROOT)
    named = re.findall(r"(converter(?:\.\w+)+)(?=\s+cimport)", Path(kernel).read_text())
    expected = {f"{one.replace('.', '/')}.pxd" for one in named}
    assert expected <= set(build._declarations(kernel))
    assert all(map(os.path.exists, expected))
