"""What notebooks show."""

from html.parser import HTMLParser

import converter
from converter.ir.trace import Trace
from converter.projection.losses import Example, LossReport

SMALL = "roundtrip_fixtures/trace_cmd/small.dat"


class Cells(HTMLParser):
    """The texts of the cells, row by row, and all tags."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_a_trace_and_its_batches():
    with converter.open_trace(SMALL) as trace:
        (batch,) = trace.batches()
        rows = Cells(trace._repr_html_()).rows
        assert ["format", "trace_cmd+v7"] in rows
        assert ["threads", str(len(trace.threads))] in rows
        html = batch._repr_html_()
    assert "Batch of 338 events" in html
    assert "and 328 more" in html
    rows = Cells(html).rows
    assert rows[0] == ["ts", "class_id", "row", "cpu", "thread", "track"]
    assert [row[0] for row in rows[1:11]] == [f"{ts:,}" for ts in batch.ts[:10].tolist()]


def test_losses_those_first_that_people_would_miss():
    report = LossReport()
    report.add("field-order", 1000, event="e")
    report.add("event-dropped", 3, 5, event="e", example=lambda: Example(5, 1, None, "e"))
    for number in range(30):
        report.add("field-as-text", number + 1, event="e", field=f"f{number}")
    rows = Cells(report._repr_html_()).rows
    assert rows[1] == ["shown", "3 events are missing: e", "3", "e at 0.000000005 s, CPU 1"]
    assert rows[2] == ["kept", "1 field is text in 30 events: 'f29' of e", "30"]
    assert "and 12 more" in report._repr_html_()
    assert "no losses" in LossReport()._repr_html_()


def test_what_a_trace_says_is_text():
    hostile = "<script>alert(1)</script>&\0" + "x" * 1000
    trace = Trace(format="x", environment={hostile: hostile})
    html = trace._repr_html_()
    cells = Cells(html)
    assert cells.tags == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "".join(cells.rows[-1]).startswith("<script>alert(1)</script>&\ufffdxxx")
    assert len(html) < 2000
