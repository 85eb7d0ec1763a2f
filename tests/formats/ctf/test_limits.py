"""Limits of what is kept from one trace to the next."""

import pytest
from fuzz import fixtures
from support.fuzzing.corpus import packed

from converter.errors import TraceError
from converter.jobs.reading import read
from converter.limits import limited


def test_metadata_that_is_known_is_held_to_the_limits_of_each_trace():
    data = packed(fixtures("ctf")[0])
    read(data, "ctf")
    with limited({"ctf.fields": 1}), pytest.raises(TraceError, match=r"ctf\.fields"):
        read(data, "ctf")
    read(data, "ctf")
