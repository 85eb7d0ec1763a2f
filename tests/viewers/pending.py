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
}


_STATE_ARGUMENT = (
    "the switches say the task states of Linux beside those of FXT, which importers of FXT show"
)
_LINES = "the importer reads only some of the lines, without the switch that ends a wait"
_KERNEL_EVENT = "wakeups that were instants are kernel events, or thread states"
#: What of a source looks different in outputs without a loss: by source, target ("" for all) and column, why.
UNNAMED: dict[tuple[str, str], dict[str, str]] = {
    ("ftrace_text/small.report.txt", "chrome"): {"states.dur": _LINES},
    ("ftrace_text/small.report.txt", "perfetto"): {"states.dur": _LINES},
    ("fxt/every-record-little.fxt", ""): {
        "threads.*": "a thread of the process that the importer makes for unknown ones",
    },
    ("generated/chrome.json", ""): {"slices.*": _KERNEL_EVENT},
    ("generated/fxt-large.fxt", ""): {"sched.end_state": _STATE_ARGUMENT},
    ("generated/fxt.fxt", ""): {"sched.end_state": _STATE_ARGUMENT},
    ("perfetto/kernel_typed.pftrace", ""): {
        "slices.depth": "a system call -1 is around, which the importer leaves out",
    },
}
_NEWER = "newer versions of trace_processor show it"
_RECORD = "which of the members of records are shown is not known"
_TASK_RECORDS = "the importer of perf.data takes names alone from records of tasks"
#: Losses that say that something is shown otherwise, where trace_processor shows no difference, and why.
UNSEEN: dict[tuple[str, str], dict[str, str]] = {
    ("chrome/features.json", "fxt"): {
        "id-text-as-number": "it is in the name of a counter's track, which each importer makes in its way",
        "native-data-shown": _NEWER,
        "thread-of-event-on-track": "chrome://tracing shows the thread of an asynchronous slice",
    },
    ("chrome/features.json", "perfetto"): {
        "json-metadata-unshown": _NEWER,
        "state-end-and-arguments": _NEWER,
    },
    ("chrome/nesting.json", "fxt"): {
        "thread-of-event-on-track": "chrome://tracing shows the thread of an asynchronous slice",
    },
    ("chrome/thread_states.json", "perfetto"): {
        "state-end-and-arguments": _NEWER,
        "state-of-no-thread": _NEWER,
    },
    ("fxt/every-record-little.fxt", "perfetto"): {
        "cpu-unknown-shown-on-0": "samples and lost events of FXT are not shown at all",
    },
    ("perf/pipe.data", "fxt"): {"new-task-wait-unshown": _TASK_RECORDS},
    ("perf/pipe.data", "perfetto"): {
        "cpu-unknown-shown-on-0": "a CPU where the input has none is no difference",
        "field-unshown": _TASK_RECORDS,
    },
    ("perfetto/extra_counters.pftrace", ""): {"record-field": _RECORD},
    ("perfetto/legacy.pftrace", "fxt"): {
        "thread-time-unshown": "a CPU time without the time at which the slice begins",
    },
    ("perfetto/timeline.pftrace", ""): {
        "command-line": "process descriptors have command lines that are not shown, process trees such as are",
    },
}


def known(table: dict[tuple[str, str], dict[str, str]], source: str, target: str) -> dict[str, str]:
    """The entries of a conversion."""
    return table.get((source, ""), {}) | table.get((source, target), {})


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reasons = PENDING.get((test, target), {})
    return next((reason for reason, sources in reasons.items() if source in sources), None)
