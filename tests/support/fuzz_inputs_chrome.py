"""Inputs of Chrome's JSON that no fixture is like."""

from __future__ import annotations

import json

from support.fuzz_corpus import Files
from support.gecko_profiles import FORMS


def inputs() -> list[Files]:
    """Profiles of Firefox in all their forms."""
    return [{"": json.dumps(profile()).encode()} for profile in FORMS.values()]
