"""What viewers are known to show otherwise than the projection says, by test, target and source."""

from __future__ import annotations

#: The list view shows a task that a switch names "" without a name, where trace-cmd reports "<...>".
_EMPTY_COMM = {
    "switches give tasks without a name an empty one": frozenset(
        {
            "aix/every-form-32.aix32",
            "aix/every-form-64.aix",
            "fxt/every-record-big.fxt",
            "fxt/every-record-little.fxt",
            "lttng_legacy/kernel-2.5.tar.gz",
        }
    )
}

#: Slices, instants and asynchronous events without a name have no member `name`.
_UNNAMED = {
    "events without a name": frozenset(
        {
            "perfetto/callstacks.pftrace",
            "perfetto/extra_counters.pftrace",
            "perfetto/kernel_every_event.pftrace",
            "perfetto/timeline.pftrace",
        }
    )
}

#: Recordings and groups that have ends without the names of their begins, whose depth that changes, and others.
_STAIRCASES = frozenset(
    {
        "ctf/ctf_cyg",
        "fxt/magic-trace.fxt",
        "generated/aix-32.aix",
        "generated/aix-64.aix",
        "generated/ctf-1.8.ctf",
        "generated/ctf-2.ctf",
        "generated/fxt-be.fxt",
        "generated/fxt-large.fxt",
        "generated/fxt.fxt",
        "generated/lttng_legacy-1.0.lttng",
        "generated/lttng_legacy-2.6.lttng",
        "generated/perfetto.pftrace",
        "generated/trace_cmd-v6.dat",
        "generated/trace_cmd-v7_none.dat",
        "generated/uftrace.uftrace",
        "lttng_legacy/kernel-2.5.tar.gz",
        "perfetto/interned.pftrace",
        "perfetto/kernel_every_event.pftrace",
        "perfetto/legacy.pftrace",
        "trace_cmd/instances.dat",
        "trace_cmd/markers.dat",
        "uftrace/rich",
        "synthetic/timeline",
        "synthetic/interrupts",
        "synthetic/kernel",
        "synthetic/all",
    }
)
_UNNAMED_ENDS = frozenset(
    {
        "aix/kernel-trace-32.aix32",
        "aix/kernel-trace-64.aix",
        "perfetto/timeline.pftrace",
        "trace_cmd/small.dat",
    }
)

#: By test and target: why, and of which sources.
PENDING: dict[tuple[str, str], dict[str, frozenset[str]]] = {
    ("test_kernelshark_lists_what_is_projected", "trace_cmd"): {
        "lost events without a number are written as none": frozenset(
            {
                "fxt/every-record-big.fxt",
                "fxt/every-record-little.fxt",
                "perfetto/kernel_lost.pftrace",
            }
        )
    },
    ("test_kernelshark_names_tasks", "trace_cmd"): _EMPTY_COMM,
    ("test_kernelshark_and_trace_cmd_agree", "trace_cmd"): _EMPTY_COMM,
    ("test_switches_name_both_tasks_in_kernelshark", "trace_cmd"): {
        "switches do not take the names of threads": frozenset(
            {
                "fxt/every-record-big.fxt",
                "fxt/every-record-little.fxt",
                "lttng_legacy/kernel-2.5.tar.gz",
                "uftrace/rich",
            }
        ),
        "the task before the first switch of a CPU has an empty name": frozenset(
            {"perfetto/kernel_compact.pftrace", "perfetto/kernel_lost.pftrace"}
        ),
    },
    ("test_times_in_kernelshark_are_not_negative", "trace_cmd"): {
        "times past 2^63 - 1 ns are cut before the time of day is added": frozenset(
            f"late_{ns}" for ns in (10**3, 2 * 10**3, 10**9, 2**62)
        )
    },
    ("test_events_have_what_catapult_takes_for_granted", "chrome"): _UNNAMED,
    ("test_catapult_imports_it", "chrome"): {
        **_UNNAMED,
        "an end is in the file before its begin": frozenset({"generated/perfetto.pftrace"}),
    },
    ("test_begins_and_ends_are_in_order", "chrome"): {
        "events are not sorted": frozenset(
            {"generated/perfetto.pftrace", "perfetto/interned.pftrace"}
        )
    },
    ("test_catapult_shows_scheduling", "chrome"): {
        "switches are states of threads, which it does not know": frozenset(
            {
                "aix/kernel-trace-32.aix32",
                "aix/kernel-trace-64.aix",
                "fxt/every-record-big.fxt",
                "fxt/every-record-little.fxt",
                "generated/aix-32.aix",
                "generated/aix-64.aix",
                "generated/ctf-1.8.ctf",
                "generated/ctf-2.ctf",
                "generated/fxt-be.fxt",
                "generated/fxt-large.fxt",
                "generated/fxt.fxt",
                "generated/lttng_legacy-1.0.lttng",
                "generated/lttng_legacy-2.6.lttng",
                "generated/trace_cmd-v6.dat",
                "generated/trace_cmd-v7_none.dat",
                "generated/uftrace.uftrace",
                "lttng_legacy/kernel-2.5.tar.gz",
                "generated/perfetto.pftrace",
                "perfetto/kernel_compact.pftrace",
                "perfetto/kernel_every_event.pftrace",
                "perfetto/kernel_lost.pftrace",
                "trace_cmd/instances.dat",
                "trace_cmd/lost.dat",
                "trace_cmd/markers.dat",
                "trace_cmd/small.dat",
                "uftrace/rich",
                "synthetic/sched",
                "synthetic/kernel",
                "synthetic/all",
            }
        )
    },
    ("test_catapult_names_threads_that_only_switches_name", "chrome"): {
        "names in switches are not those of threads": frozenset(
            {"perfetto/kernel_compact.pftrace", "perfetto/kernel_typed.pftrace"}
        )
    },
    ("test_catapult_warns_of_nothing_else", "chrome"): {
        "snapshots have no member `snapshot`, clock synchronisation no id": frozenset(
            {"synthetic/objects", "synthetic/all"}
        )
    },
    ("test_catapult_imports_a_copy_as_its_original", ""): {
        "what was added for viewers is taken off in a copy": frozenset({"generated/chrome.json"})
    },
    ("test_speedscope_matches_begins_and_ends", "chrome"): {
        "ends do not say the name of their begin": _STAIRCASES | _UNNAMED_ENDS
    },
    ("test_speedscope_shows_trees_of_the_same_depth", "chrome"): {
        "ends do not say the name of their begin": _STAIRCASES
    },
}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reasons = PENDING.get((test, target), {})
    return next((reason for reason, sources in reasons.items() if source in sources), None)
