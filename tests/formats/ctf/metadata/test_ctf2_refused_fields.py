"""Field classes that CTF 2 does not allow: each defect is refused, by its place."""

from __future__ import annotations

import pytest
from support.ctf.ctf2_refused import REFUSED_FIELDS, with_field

from converter.errors import TraceError
from converter.formats.ctf.metadata.files import parse_metadata

MEMBER = "fragment 2.payload-field-class.member-classes[0].field-class"


@pytest.mark.parametrize("name", REFUSED_FIELDS)
def test_defects_of_field_classes(name: str) -> None:
    held, place, text = REFUSED_FIELDS[name]
    with pytest.raises(TraceError) as caught:
        parse_metadata(with_field(held))
    error = caught.value
    assert error.field == f"metadata.{MEMBER}{place}"
    assert text in str(error) and "line 3, column 2" in str(error)
