"""What trace_processor is known to show otherwise than the projection says, by test, target and source."""

from __future__ import annotations

#: By test and target: why, and of which sources.
PENDING: dict[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("test_what_looks_different_is_a_named_loss", ""): (
        "mixed lists, texts of JSON and stacks in Chrome JSON; main threads named after processes",
        frozenset(
            {
                "fxt/magic-trace.fxt-perfetto",
                "perfetto/annotations.pftrace-chrome",
                "perfetto/callstacks.pftrace-chrome",
            }
        ),
    ),
    ("test_trace_cmd_reports_what_is_projected", ""): (
        "a thread id of 64 bits is cut to another one",
        frozenset(
            {
                "chrome/features.json-trace-cmd",
                "chrome/features.json-trace-cmd-3.4",
            }
        ),
    ),
    ("test_uftrace_dumps_what_is_projected", ""): (
        "a directory that is refused, or functions that are not shown as they are",
        frozenset(
            {
                "chrome/features.json-uftrace-0.19",
                "chrome/nesting.json-uftrace-0.19",
                "generated/aix-32.aix-uftrace-0.19",
                "generated/aix-64.aix-uftrace-0.19",
                "generated/chrome.json-uftrace-0.19",
                "generated/ctf-1.8.ctf-uftrace-0.19",
                "generated/ctf-2.ctf-uftrace-0.19",
                "generated/fxt-be.fxt-uftrace-0.19",
                "generated/fxt-large.fxt-uftrace-0.19",
                "generated/fxt.fxt-uftrace-0.19",
                "generated/lttng_legacy-1.0.lttng-uftrace-0.19",
                "generated/lttng_legacy-2.6.lttng-uftrace-0.19",
                "generated/perfetto.pftrace-uftrace-0.19",
                "generated/trace_cmd-v6.dat-uftrace-0.19",
                "generated/trace_cmd-v7_none.dat-uftrace-0.19",
                "perfetto/callstacks.pftrace-uftrace",
                "perfetto/callstacks.pftrace-uftrace-0.19",
                "perfetto/extra_counters.pftrace-uftrace",
                "perfetto/extra_counters.pftrace-uftrace-0.19",
                "perfetto/kernel_compact.pftrace-uftrace-0.19",
                "perfetto/kernel_every_event.pftrace-uftrace",
                "perfetto/kernel_every_event.pftrace-uftrace-0.19",
                "perfetto/kernel_typed.pftrace-uftrace-0.19",
                "synthetic/all-uftrace-0.19",
                "synthetic/calls-uftrace",
                "synthetic/calls-uftrace-0.19",
                "synthetic/interrupts-uftrace-0.19",
                "synthetic/kernel-uftrace-0.19",
                "synthetic/power-uftrace-0.19",
                "synthetic/sched-uftrace-0.19",
                "synthetic/typed-uftrace-0.19",
            }
        ),
    ),
}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reason, sources = PENDING.get((test, target), ("", frozenset()))
    return reason if source in sources else None
