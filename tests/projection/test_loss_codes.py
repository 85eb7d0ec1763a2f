"""The table of losses: each loss has an entry, each entry a use, and sentences are about the user's events."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from test_words import WORDS

from converter.ir.kinds import Kind
from converter.projection.loss_codes import LOSS_CODES
from converter.projection.loss_codes.entry import LossClass, LossCode, LossKind
from converter.projection.loss_codes.remedies import kept_by, remedy_of
from converter.projection.loss_codes.sentences import items_of, sentence_of
from converter.projection.loss_groups import grouped
from converter.projection.losses import LossReport
from converter.registry import FORMATS

PACKAGE = Path(__file__).parents[2] / "converter"
TABLES = PACKAGE / "projection/loss_codes"
#: Methods that count losses, with the position of the code among their arguments.
METHODS = {"lose": 0, "add_at": 0, "add": 0}
#: Parameters of these methods that are none of a sentence.
OWN = {"loss_class", "event_kinds", "example", "rows", "first_row", "count", "first_ts"}
#: Names of the representation, which a user does not know.
REPRESENTATION = re.compile(
    "|".join(
        rf"\b{kind.name.lower()}\b"
        for kind in Kind
        if "_" in kind.name and kind < Kind.SCHED_SWITCH
    )
    + r"|\brole\b|\bpartition\b|\bsidecar\b|\bprojection\b|\blowered\b|\bevent class\b"
)
#: Words that describe this project's work, not the user's trace.
HOUSE = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
PLACEHOLDER = re.compile(r"\{([^{}|:]+)(?::,)?\}")


@cache
def sources():
    return {
        path: ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
        if TABLES not in path.parents and re.search(r"\blose|losses|report\.add", path.read_text())
    }


def texts_of(tree):
    """All strings of a module: codes may be constants or be chosen first."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def calls():
    """The calls that count losses with a code in place: the code, its parameters, and where it is."""
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name, arguments = node.func.attr, node.args
                if name in METHODS and arguments and isinstance(arguments[0], ast.Constant):
                    code = arguments[0].value
                    if isinstance(code, str) and (code in LOSS_CODES or name != "add"):
                        keywords = {one.arg for one in node.keywords}
                        yield code, keywords, f"{path.name}:{node.lineno}"


def needed(entry):
    """The parameters of an entry that a call has to give."""
    text = f"{entry.sentence} {entry.item}"
    return set(PLACEHOLDER.findall(text)) - {"count", "n", "items", "event"}


def test_each_code_in_place_is_in_the_table_and_has_its_parameters():
    found = list(calls())
    assert len(found) > 130
    assert not [(code, where) for code, _, where in found if code not in LOSS_CODES]
    wrong = [
        (code, where)
        for code, keywords, where in found
        if None not in keywords and keywords - OWN - {"event"} != needed(LOSS_CODES[code])
    ]
    assert not wrong


def test_no_loss_is_a_text():
    """Codes that are no constant at the call are constants nearby: nothing is put together."""
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                is_loss = node.func.attr == "lose" or node.func.attr == "add_at"
                if is_loss and node.args:
                    assert not isinstance(node.args[0], ast.JoinedStr | ast.BinOp), path


def test_each_code_is_used():
    used = set().union(*map(texts_of, sources().values()))
    assert not LOSS_CODES.keys() - used


@pytest.mark.parametrize("code", LOSS_CODES)
def test_a_sentence_is_about_the_users_events(code):
    entry = LOSS_CODES[code]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
    text = f"{entry.sentence} {entry.item}"
    assert not REPRESENTATION.search(text)
    assert not HOUSE.search(text)
    assert not entry.sentence.endswith(".")
    assert ("{items}" in entry.sentence) == bool(entry.item)
    report = LossReport()
    parameters = {name: 7000 + number for number, name in enumerate(sorted(needed(entry)))}
    for count in (1, 2):
        report = LossReport()
        report.add(code, count, event="e", **parameters)
        (group,) = grouped(report)
        sentence = group.sentence()
        assert not re.search(r"[{}|]", sentence.replace("for | and", "")), sentence
        (loss,) = report
        assert str(loss) == sentence
        assert all(str(value) in sentence.replace(",", "") for value in parameters.values())
        assert loss.remedy == remedy_of(code)
        assert 15 < len(sentence) < 220


def test_several_losses_of_a_code_are_one_sentence_that_counts_each_event_once():
    report = LossReport()
    for field, count in (("b", 5), ("a", 5), ("c", 2)):
        report.add("field-dropped", count, 1, event="sched:x", field=field)
    report.add("field-dropped", 3, 1, event="sched:y", field="a")
    (group,) = grouped(report)
    assert group.count == 8
    assert group.sentence() == (
        "8 events lack a field: 'a' of sched:x (5), 'b' of sched:x (5), 'a' of sched:y (3), 1 more"
    )


def entry(sentence, item="{event}"):
    return LossCode(LossKind.DROPPED, sentence, item)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"a": 1}, "1 event of 1 name lacks m, which is a"),
        ({"a": 2}, "2 events of 1 name lack m, which is a"),
        ({"b": 1, "a": 1}, "2 events of 2 names lack m, which is a (1), b (1)"),
        ({"b": 1, "a": 2000}, "2,001 events of 2 names lack m, which is a (2,000), b (1)"),
        ({"c": 1, "b": 1, "a": 1}, "3 events of 3 names lack m, which is a (1), b (1), 1 more"),
    ],
)
def test_words_go_with_the_numbers_of_events_and_of_items(counts, said):
    losses = [({"event": event, "field": "m"}, count) for event, count in counts.items()]
    words = entry(
        "{count} {event|events} of {n} {n:name|names} {lacks|lack} {field}, which is {items}"
    )
    assert sentence_of(words, losses, 2) == said


def test_a_loss_without_items_has_none():
    assert items_of(entry("{count} lost", ""), [({"event": "a"}, 5)]) == []


def test_begin_and_end_are_one_event():
    report = LossReport()
    for event in ("irq:irq_handler_entry", "irq:irq_handler_exit", "slice begin", "slice end"):
        report.add("cpu-dropped", 20, 1, event=event)
    (group,) = grouped(report)
    assert group.sentence() == (
        "40 events do not say on which CPU they were: irq:irq_handler_entry (20), slice begin (20)"
    )


def test_each_event_has_one_other_type():
    report = LossReport()
    for event, shown in (("print", "slice begin"), ("print", "slice end"), ("x_exit", "instant")):
        report.add("event-as", 20, 1, event=event, shown=shown)
    (group,) = grouped(report)
    assert group.count == 60


def test_changed_values_say_from_what_to_what():
    report = LossReport()
    for was, shown, count in (("I", "S", 6), ("D", "S", 1), ("R+", "R", 3)):
        report.add("state-shown-as", count, 1, was=was, shown=shown)
    (group,) = grouped(report)
    assert group.sentence() == (
        "10 switches show another task state: I as S (6), R+ as R (3), D as S (1)"
    )


def test_missing_events_come_first_and_tables_last():
    report = LossReport()
    report.add("command-line", 100)
    report.add("thread-dropped", 50, 1, event="e")
    report.add("state-shown-as", 2, 1, was="D", shown="S")
    report.add("event-dropped", 1, 1, event="e")
    report.add("field-order", 1000, 1, event="e")
    report.add("cpu-as-argument", 1000, 1, event="e")
    assert [group.code for group in grouped(report)] == [
        "event-dropped",
        "state-shown-as",
        "thread-dropped",
        "command-line",
        "cpu-as-argument",
        "field-order",
    ]
    assert [group.loss_class for group in grouped(report)][-2:] == [
        LossClass.KEPT,
        LossClass.DETAIL,
    ]


#: What it is that makes a format keep a property.
PROPERTIES = {
    "clock_names": lambda has: has.clock_names,
    "clock_rates": lambda has: has.clock_rates and has.exact_rate is None,
    "command_lines": lambda has: has.command_lines,
    "cpuless": lambda has: has.cpuless,
    "environment": lambda has: has.environment,
    "epoch": lambda has: has.epoch and has.shown_epoch_unit is None,
    "interrupts": lambda has: Kind.IRQ_ENTRY in has.kinds and has.kinds[Kind.IRQ_ENTRY].thread,
    "negative_times": lambda has: has.negative_times,
    "other_clocks": lambda has: has.other_clocks,
    "symbols": lambda has: has.symbols,
    "task_states": lambda has: not has.weights and Kind.SCHED_SWITCH in has.kinds,
    "thread_and_track": lambda has: (
        has.tracks
        and has.kinds[Kind.SLICE_BEGIN].thread
        and not has.kinds[Kind.SLICE_BEGIN].one_place
    ),
    "track_units": lambda has: has.units or has.track_units,
    "tracks": lambda has: has.tracks,
    "units": lambda has: has.units,
}
#: Formats that no living viewer opens, text, which keeps in remarks what its viewers do not show, and profiles.
NOT_NAMED = {
    "aix",
    "cpuprofile",
    "folded",
    "ftrace_text",
    "gecko",
    "lttng_legacy",
    "perf_script",
    "pprof",
    "simpleperf",
    "speedscope",
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_remedies_are_what_capabilities_say(name):
    keeping = {
        one.name
        for one in FORMATS
        if one.writable and not one.holds_all and PROPERTIES[name](one.capabilities(""))
    }
    assert set(kept_by()[name]) == keeping - NOT_NAMED


def test_each_property_is_that_of_a_loss():
    assert {entry.keeps for entry in LOSS_CODES.values()} - {""} == kept_by().keys()
    assert PROPERTIES.keys() == kept_by().keys()
