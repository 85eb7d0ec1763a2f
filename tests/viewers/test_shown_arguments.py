"""Arguments that one importer shows and another does not: the loss report says so, and says nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fxt.files import argument, event, start
from support.perfetto.files import BEGIN, END, File
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.fxt.record_types import ArgumentType, EventType
from converter.projection.losses import LossClass

pytestmark = needs_trace_processor

ARGUMENTS = """select replace(replace(key, 'debug.', ''), 'args.', ''), coalesce(string_value, int_value)
    from slice join args using (arg_set_id) where key not glob 'legacy*' order by 1"""


def shown_losses(source: Path, target: Path) -> list[str]:
    losses = converter.convert(source, target)
    return [line_of(loss) for loss in losses if loss.loss_class is LossClass.SHOWN]


@pytest.mark.parametrize("suffix", ["pftrace", "json"])
def test_arguments_without_a_value_are_shown_of_fxt(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "a.fxt", tmp_path / f"b.{suffix}"
    given = [argument(ArgumentType.NULL, b"no", None), argument(ArgumentType.INT32, b"one", 1)]
    kind = EventType.INSTANT
    data = event("little", kind, 5, thread=(1, 2), name=b"i", arguments=given)
    source.write_bytes(start("little") + data)
    lost = shown_losses(source, target)
    assert answer(source, ARGUMENTS) == [["no", "null"], ["one", "1"]]
    assert answer(target, ARGUMENTS) == [["one", "1"]]
    assert [one for one in lost if "field=" in one] == [
        "empty-field-unshown event=instant field=no (1)"
    ]


def test_json_of_perfetto_is_unknown_in_fxt_and_empty_arguments_are_nowhere(tmp_path: Path) -> None:
    source, target = tmp_path / "a.pftrace", tmp_path / "b.fxt"
    file = File()
    file.thread_track(2, 10, 11, "worker")
    annotations = file.event(10, BEGIN, "work", 2).debug_annotations
    annotations.add(name="j", legacy_json_value='{"a":1}')
    annotations.add(name="none")
    file.event(20, END, uuid=2)
    source.write_bytes(file.bytes())
    assert shown_losses(source, target) == ["bytes-unshown event=slice begin field=j (1)"]
    assert answer(source, ARGUMENTS) == [["j.a", "1"]]
    assert answer(target, ARGUMENTS) == [["j", "unknown"], ["none", "null"]]
    assert shown_losses(source, tmp_path / "b.json") == []
