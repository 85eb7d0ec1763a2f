"""Events are under the system where users of KernelShark look for them, and keep their names on the way back."""

import re

import pytest
from support.traces.small_traces import event_class, trace_of

import converter
from converter.formats.ftrace.kernel_names import kernel_point
from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role

I64 = IntegerClass(64, signed=True)
LTTNG = {"domain": "kernel", "tracer_name": "lttng-modules", "kernel_release": "4.4.0-116-generic"}


@pytest.mark.parametrize(
    ("word", "point"),
    [
        ("kmem_mm_page_alloc", ("kmem", "mm_page_alloc")),
        ("kmem_cache_free", ("kmem", "kmem_cache_free")),
        ("block_dirty_buffer", ("block", "block_dirty_buffer")),
        ("net_dev_xmit", ("net", "net_dev_xmit")),
        ("timer_hrtimer_start", ("timer", "hrtimer_start")),
        ("timer_init", ("timer", "timer_init")),
        ("random_mix_pool_bytes", ("random", "mix_pool_bytes")),
        ("cpuhp_enter", ("cpuhp", "cpuhp_enter")),
        ("irq_matrix_alloc", ("irq_matrix", "irq_matrix_alloc")),
        ("power_of_two", ("power", "of_two")),
        # Those that the reader knows by their names, and what is none of the kernel's.
        *(("irq_softirq_raise", None), ("sched_switch", None), ("lttng_statedump_start", None)),
        *(("kmem", None), ("kmem_", None), ("", None), ("x86_exceptions_page_fault_user", None)),
    ],
)
def test_words_of_the_kernel_are_taken_apart(word, point):
    assert kernel_point(word) == point


def recording(environment, *classes):
    trace = trace_of(
        classes, [(i, i + 1, 0, 1, [7] * len(one.fields)) for i, one in enumerate(classes)]
    )
    trace.environment = environment
    return trace


def points(path):
    trace = collect(converter.read(path))
    return {(one.category, one.name): one.kind for one in trace.event_classes}


PAGE = {"pfn": IntegerClass(64), "order": IntegerClass(32), "gfp_flags": IntegerClass(32)}
KERNEL = (
    event_class(Kind.TYPED, "kmem_mm_page_alloc", "", **PAGE, migratetype=IntegerClass(32, True)),
    event_class(Kind.TYPED, "block_dirty_buffer", "", n=I64),
    event_class(Kind.TYPED, "lttng_statedump_start", "", n=I64),
    event_class(Kind.TYPED, "irq_softirq_raise", "", n=I64),
    event_class(Kind.SYSCALL_ENTRY, "syscall_entry_openat", "", filename=I64),
    event_class(Kind.SYSCALL_EXIT, "syscall_exit_openat", "", ret=(I64, Role.RETURN)),
    event_class(Kind.TYPED, "event", "provider", n=I64),
)


def test_events_of_lttng_are_under_the_kernels_systems_and_come_back(tmp_path):
    path, back = tmp_path / "a.dat", tmp_path / "b.ctf"
    converter.write(recording(LTTNG, *KERNEL), path)
    assert points(path) == {
        ("kmem", "mm_page_alloc"): Kind.TYPED,
        ("block", "block_dirty_buffer"): Kind.TYPED,
        ("lttng", "lttng_statedump_start"): Kind.TYPED,
        ("lttng", "irq_softirq_raise"): Kind.TYPED,
        ("syscalls", "sys_enter_openat"): Kind.SYSCALL_ENTRY,
        ("syscalls", "sys_exit_openat"): Kind.SYSCALL_EXIT,
        ("provider", "event"): Kind.TYPED,
    }
    converter.convert(path, back)
    names = set(re.findall(r'name = "?([\w:]+)"?;', (back / "metadata").read_text("latin-1")))
    assert {one.name for one in KERNEL[:-1]} <= names


@pytest.mark.parametrize(
    ("environment", "system"),
    [
        ({"domain": "kernel", "tracer_name": "perf"}, "perf"),
        ({"domain": "ust", "tracer_name": "lttng-ust"}, "lttng"),
        ({"tracer_name": "ftrace"}, "traceconv"),
        ({"tracer_name": "2 tracers"}, "_2_tracers"),
        ({}, "traceconv"),
    ],
)
def test_other_events_are_under_who_recorded_them(tmp_path, environment, system):
    path = tmp_path / "a.dat"
    converter.write(recording(environment, event_class(Kind.TYPED, "cpu_clock", "", n=I64)), path)
    assert points(path) == {(system, "cpu_clock"): Kind.TYPED}


def test_a_program_may_call_its_events_as_the_kernel_does(tmp_path):
    path = tmp_path / "a.dat"
    converter.write(recording({"domain": "bare", "tracer_name": "barectf"}, KERNEL[0]), path)
    assert points(path) == {("barectf", "kmem_mm_page_alloc"): Kind.TYPED}


def test_what_has_no_system_is_under_its_format(tmp_path):
    source, path = tmp_path / "a.json", tmp_path / "a.dat"
    source.write_text(
        '[{"ph":"s","pid":1,"tid":1,"ts":1,"id":1,"name":"f","cat":"c"},'
        '{"ph":"f","pid":1,"tid":1,"ts":2,"id":1,"name":"f","cat":"c"}]'
    )
    converter.convert(source, path)
    assert set(points(path)) == {("chrome", "flow_begin"), ("chrome", "flow_end")}


@pytest.mark.parametrize(
    ("release", "named"),
    [
        ("4.4.0-116-generic", False),
        ("6.9.12", False),
        ("6.10.0", True),
        ("6.18.1", True),
        ("", True),
    ],
)
def test_flags_are_named_only_by_the_bits_that_the_kernel_had(tmp_path, release, named):
    path = tmp_path / "a.dat"
    converter.write(recording({**LTTNG, "kernel_release": release}, KERNEL[0]), path)
    (event,) = collect(converter.read(path)).event_classes
    assert event.name == "mm_page_alloc"
    assert (b"__GFP_" in event.native) == named
    assert named or b"gfp_flags=%llu" in event.native
