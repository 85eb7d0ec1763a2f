"""What viewers are known to show otherwise than the projection says, by test, target and source."""

from __future__ import annotations

#: It takes begins before ends at one time, and looks at the arguments of both.
_AT_ONE_TIME = {
    "ends and begins at one time, and ends with arguments of their own": frozenset(
        {
            "ctf/ctf_cyg",
            "fxt/magic-trace.fxt",
            "perfetto/kernel_every_event.pftrace",
            "perfetto/legacy.pftrace",
        }
    )
}

#: By test and target: why, and of which sources.
PENDING: dict[tuple[str, str], dict[str, frozenset[str]]] = {
    ("test_catapult_imports_it", "chrome"): {
        "an end is in the file before its begin": frozenset({"generated/perfetto.pftrace"}),
    },
    ("test_begins_and_ends_are_in_order", "chrome"): {
        "events are not sorted": frozenset(
            {"generated/perfetto.pftrace", "perfetto/interned.pftrace"}
        )
    },
    ("test_catapult_warns_of_nothing_else", "chrome"): {
        "snapshots have no member `snapshot`, clock synchronisation no id": frozenset(
            {"synthetic/objects", "synthetic/all"}
        )
    },
    ("test_catapult_shows_scheduling", "chrome"): {
        "it knows states of one letter": frozenset({"perfetto/kernel_compact.pftrace"})
    },
    ("test_speedscope_matches_begins_and_ends", "chrome"): _AT_ONE_TIME,
    ("test_speedscope_shows_trees_of_the_same_depth", "chrome"): _AT_ONE_TIME,
    ("test_catapult_imports_a_copy_as_its_original", ""): {
        "what was added for viewers is taken off in a copy": frozenset({"generated/chrome.json"})
    },
}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reasons = PENDING.get((test, target), {})
    return next((reason for reason, sources in reasons.items() if source in sources), None)
