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
}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reason, sources = PENDING.get((test, target), ("", frozenset()))
    return reason if source in sources else None
