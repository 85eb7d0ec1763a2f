"""docs/losses.md is what conversions report; here a few of them are made again."""

import json
from pathlib import Path

import pytest
from loss_page import PAGE, RECORDINGS, TARGETS, codes, conversion

import converter

SCHEMA = Path(__file__).parent.parent / "schemas/losses.schema.json"


@pytest.mark.parametrize(
    ("recording", "target"), list(zip(RECORDINGS[::3], TARGETS[2::2], strict=False))
)
def test_a_conversion_loses_what_the_page_says(recording, target):
    section = PAGE.read_text().partition(f"### {recording}\n")[2].partition("\n### ")[0]
    assert "\n".join(conversion(recording, target)) in section


def test_the_page_has_all_conversions_and_codes():
    text = PAGE.read_text()
    assert text.count("\n**To ") == len(RECORDINGS) * len(TARGETS) == 80
    assert "\n".join(codes()) in text, "python -m tests.loss_page --write"


def test_the_report_is_as_the_schema_says(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    small = Path(__file__).parent.parent / "roundtrip_fixtures/trace_cmd/small.dat"
    report = json.loads(converter.convert(small, tmp_path / "a.fxt").to_json())
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(report, schema)
    item = schema["properties"]["losses"]["items"]
    assert all(set(item["properties"]) == set(loss) for loss in report["losses"])
    assert any(loss["example"] for loss in report["losses"])
