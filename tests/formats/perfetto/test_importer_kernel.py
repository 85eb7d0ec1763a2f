"""Kernel events that the Perfetto writer makes of other formats are what Perfetto's importer shows."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

import pytest
from support.perfetto_writing import kernel_events, trace_of, written
from support.small_traces import fields_at
from support.trace_processor import answer, errors, needs_trace_processor, number

import converter
from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.declarations import SHAPE, place_typed
from converter.formats.perfetto.layout import EVENT_NOTES
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
RECORDINGS = [
    *(f"trace_cmd/{path.name}" for path in sorted(FIXTURES.glob("trace_cmd/*.dat"))),
    *(f"ctf/{name}" for name in ("ctf2_small", "ctf_cyg", "ctf_lost", "ctf_small", "perf_ctf")),
    "lttng_legacy/kernel-2.5.tar.gz",
    "lttng_legacy/net-2.6.tar.gz",
    "uftrace/rich",
    "aix/kernel-trace-32.aix32",
    "aix/kernel-trace-64.aix",
]
#: What the recordings themselves lack: events that were lost, text of markers that is none of atrace's, and the switch
#: in which no one knows who left the CPU.
OF_THE_SOURCE = {"ftrace_cpu_has_data_loss", "systrace_parse_failure"}

pytestmark = needs_trace_processor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("importer")


@pytest.fixture(scope="module")
def shown(folder):
    """The recording as Perfetto, converted once."""
    made = {}

    def convert(name):
        if name not in made:
            source = FIXTURES / name
            if name.endswith(".tar.gz"):
                with tarfile.open(source) as archive:
                    archive.extractall(folder / "unpacked", filter="data")
                source = next((folder / "unpacked").iterdir())
            made[name] = folder / f"{name.replace('/', '_')}.pftrace"
            converter.convert(source, made[name])
        return made[name]

    return convert


def kernel_classes(path):
    """The classes of kernel events in a Perfetto trace, with the number of their events."""
    found = Counter()
    with converter.open_trace(path) as trace:
        for batch in trace.batches():
            for number_, table in batch.tables.items():
                event_class = trace.event_classes[number_]
                if event_class.kind is Kind.TYPED or event_class.category:
                    found[event_class] += len(table)
    return found


recordings = pytest.mark.parametrize("name", RECORDINGS)


@recordings
def test_nothing_is_rejected(shown, name):
    assert errors(shown(name)).keys() <= OF_THE_SOURCE
