"""What trace_processor is known to show otherwise than the projection says, by test, target and source."""

from __future__ import annotations

#: By test and target: why, and of which sources.
PENDING: dict[tuple[str, str], dict[str, frozenset[str]]] = {
    ("test_what_looks_different_is_a_named_loss", ""): {
        "mixed lists, texts of JSON and stacks in Chrome JSON; main threads named after processes": frozenset(
            {
                "fxt/magic-trace.fxt-perfetto",
                "perfetto/annotations.pftrace-chrome",
                "perfetto/callstacks.pftrace-chrome",
            }
        ),
        "states that threads are left in, which JSON has as arguments, are shown of FXT": frozenset(
            {"generated/chrome.json-fxt"}
        ),
        "thread times are arguments in FXT; slices without a name are called so in JSON": frozenset(
            {"perfetto/extra_counters.pftrace-chrome", "perfetto/extra_counters.pftrace-fxt"}
        ),
        "threads that only kernel events name belong to no process in Perfetto alone": frozenset(
            {"perfetto/kernel_generic.pftrace-chrome"}
        ),
        "legacy events on threads are shown of FXT alone": frozenset(
            {"perfetto/legacy.pftrace-fxt"}
        ),
        "priorities of switches are shown of Perfetto alone; so are flows of wakeups": frozenset(
            {
                "perfetto/kernel_every_event.pftrace-chrome",
                "perfetto/kernel_every_event.pftrace-fxt",
                "perfetto/kernel_typed.pftrace-fxt",
            }
        ),
    },
}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reasons = PENDING.get((test, target), {})
    return next((reason for reason, sources in reasons.items() if source in sources), None)
