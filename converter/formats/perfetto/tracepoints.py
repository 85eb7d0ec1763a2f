"""The mapping of Perfetto's kernel events: systems, names, kinds and roles, in both directions."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import Final

from converter.formats.perfetto.layout import FtraceField
from converter.formats.perfetto.protobuf.descriptors import (
    ProgramField,
    typed_event,
    typed_events_by_name,
)
from converter.formats.perfetto.protobuf.messages import message_order
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.domain.linux_tracepoints import MEANINGS, NAMING_ROLES, Meaning, meaning

#: The kernel's systems in the order of the .proto files that declare their events, each with the first event of its
#: file (protos/perfetto/trace/ftrace/*.proto; a file is named after its system). Messages of a file are adjacent in
#: the package, so an event belongs to the last system whose first event does not come after it.
SYSTEMS: Final[tuple[tuple[str, str], ...]] = (
    ("android_fs", "android_fs_dataread_end"),
    ("bcl_exynos", "bcl_irq_trigger"),
    ("binder", "binder_transaction"),
    ("block", "block_rq_issue"),
    ("cgroup", "cgroup_attach_task"),
    ("clk", "clk_enable"),
    ("cma", "cma_alloc_start"),
    ("compaction", "mm_compaction_begin"),
    ("cpm_trace", "param_set_value_cpm"),
    ("cpuhp", "cpuhp_exit"),
    ("cros_ec", "cros_ec_sensorhub_data"),
    ("dcvsh", "dcvsh_freq"),
    ("devfreq", "devfreq_frequency"),
    ("dma_fence", "dma_fence_init"),
    ("dmabuf_heap", "dma_heap_stat"),
    ("dpu", "dpu_tracing_mark_write"),
    ("drm", "drm_vblank_event"),
    ("dwc3", "dwc3_alloc_request"),
    ("ext4", "ext4_da_write_begin"),
    ("f2fs", "f2fs_do_submit_bio"),
    ("fastrpc", "fastrpc_dma_stat"),
    ("fence", "fence_init"),
    ("filemap", "mm_filemap_add_to_page_cache"),
    ("fs", "do_sys_open"),
    ("ftrace", "print"),
    ("fwtp_ftrace", "fwtp_perfetto_counter"),
    ("g2d", "g2d_tracing_mark_write"),
    ("kprobes", "kprobe_event"),
    ("google_icc_trace", "google_icc_event"),
    ("google_irm_trace", "google_irm_event"),
    ("gpu_mem", "gpu_mem_total"),
    ("gpu_scheduler", "drm_sched_job"),
    ("hyp", "hyp_enter"),
    ("hypervisor", "hypervisor_host_hcall"),
    ("i2c", "i2c_read"),
    ("ion", "ion_stat"),
    ("ipi", "ipi_entry"),
    ("irq", "softirq_entry"),
    ("irq_vectors", "local_timer_entry"),
    ("kgsl", "kgsl_gpu_frequency"),
    ("kmem", "alloc_pages_iommu_end"),
    ("kvm", "kvm_access_fault"),
    ("lowmemorykiller", "lowmemory_kill"),
    ("lwis", "lwis_tracing_mark_write"),
    ("mali", "mali_tracing_mark_write"),
    ("mdss", "mdp_cmd_kickoff"),
    ("mm_event", "mm_event_record"),
    ("net", "netif_receive_skb"),
    ("oom", "oom_score_adj_update"),
    ("panel", "dsi_cmd_fifo_status"),
    ("perf_trace_counters", "sched_switch_with_ctrs"),
    ("pixel_irq", "long_irq"),
    ("pixel_mm", "pixel_mm_kswapd_wake"),
    ("power", "cpu_frequency"),
    ("printk", "console"),
    ("raw_syscalls", "sys_enter"),
    ("regulator", "regulator_disable"),
    ("rpm", "rpm_status"),
    ("samsung", "samsung_tracing_mark_write"),
    ("sched", "sched_switch"),
    ("scm", "scm_call_start"),
    ("scsi", "scsi_dispatch_cmd_error"),
    ("sde", "sde_tracing_mark_write"),
    ("signal", "signal_deliver"),
    ("skb", "kfree_skb"),
    ("sock", "inet_sock_set_state"),
    ("sync", "sync_pt"),
    ("synthetic", "rss_stat_throttled"),
    ("systrace", "zero"),
    ("task", "task_newtask"),
    ("tcp", "tcp_retransmit_skb"),
    ("thermal", "thermal_temperature"),
    ("thermal_exynos", "thermal_exynos_acpm_bulk"),
    ("timer", "hrtimer_start"),
    ("trusty", "trusty_smc"),
    ("ufs", "ufshcd_command"),
    ("v4l2", "v4l2_qbuf"),
    ("virtio_gpu", "virtio_gpu_cmd_queue"),
    ("virtio_video", "virtio_video_cmd"),
    ("vmscan", "mm_vmscan_direct_reclaim_begin"),
    ("workqueue", "workqueue_activate_work"),
)

#: Systems whose events share names with others': their names in FtraceEvent start with the system's.
PREFIXED_SYSTEMS: Final = frozenset(
    {"dpu", "g2d", "hypervisor", "kgsl", "lwis", "mali", "samsung", "sde"}
)


@cache
def _system_starts() -> list[tuple[int, str]]:
    first_events = {event: system for system, event in SYSTEMS}
    order = message_order()
    events = typed_events_by_name()
    return sorted(
        [
            (order[events[name].message], first_events[name])
            for name in first_events
            if name in events
        ]
    )


def tracepoint_of(number: int) -> tuple[str, str] | None:
    """Return the kernel's (system, event) of a typed event by its field number in FtraceEvent; None if it has none."""
    event = typed_event(number)
    if event is None:
        return None
    position = message_order()[event.message]
    system = ""
    for start, name in _system_starts():
        if start > position:
            break
        system = name
    name = event.field_name
    if system in PREFIXED_SYSTEMS:
        name = name.removeprefix(f"{system}_")
    return system, name


@cache
def number_of_tracepoint() -> dict[tuple[str, str], int]:
    """Return the field number in FtraceEvent of each (system, event) with a typed event: the inverse for a writer."""
    starts, systems = zip(*_system_starts(), strict=True)
    order, result = message_order(), {}
    for name, event in typed_events_by_name().items():
        after = bisect_right(starts, order[event.message])
        system = systems[after - 1] if after else ""
        # The systems of these events are part of their names.
        own = name.removeprefix(f"{system}_") if system in PREFIXED_SYSTEMS else name
        result[system, own] = event.number
    return result


#: Fields whose number identifies a function: an iid of InternedData.kernel_symbols or, if that has none, an address
#: (ftrace_parser.cc, kernel function fields).
SYMBOL_FIELDS: Final = frozenset(
    {
        ("sched_blocked_reason", "caller"),
        ("workqueue_execute_start", "function"),
        ("workqueue_execute_end", "function"),
        ("workqueue_queue_work", "function"),
        ("hrtimer_start", "function"),
        ("hrtimer_expire_entry", "function"),
        ("timer_start", "function"),
        ("timer_expire_entry", "function"),
        ("funcgraph_entry", "func"),
        ("funcgraph_exit", "func"),
        ("mm_shrink_slab_start", "shrink"),
        ("mm_shrink_slab_end", "shrink"),
        ("print", "ip"),
    }
)

#: `EventClass.native` of events in compact_sched, which a writer may encode so again: the tasks switched out and the
#: emitting tasks of its events are inferred from the previous switch on the CPU.
COMPACT_SCHED: Final = b"FtraceEventBundle.CompactSched"
#: `EventClass.native` of events in the self-contained generic encoding (FtraceEvent.generic).
GENERIC_EVENT: Final = b"GenericFtraceEvent"

#: `EventClass.native` of markers with a descriptor, although there is a typed event for them: see `adapters.markers`.
DESCRIBED_EVENT: Final = b"GenericEventDescriptor"

#: The system of undeclared events, which are named by their field number.
UNKNOWN_SYSTEM: Final = "ftrace_event"

#: The roles of counters' fields: values, and the CPU that they are about.
_OF_COUNTERS: Final = frozenset({Role.VALUE, Role.MINIMUM, Role.MAXIMUM, Role.TARGET_CPU})

#: FtraceEvent.common_flags, which precedes the fields of every kernel event.
COMMON_FLAGS: Final = Field("common_flags", IntegerClass(32), Role.CONTEXT_FLAGS)


def known_meaning(system: str, name: str) -> Meaning | None:
    """Return the meaning of a kernel event, None if unknown; for events without a type it depends on the name alone."""
    if (system, name) in number_of_tracepoint():
        typed = meaning(system, name)
        return None if typed.kind is Kind.TYPED else typed
    return MEANINGS.get((system, name))


def kind_of(system: str, name: str) -> Kind:
    """Return the kind of a kernel event."""
    known = known_meaning(system, name)
    return Kind.TYPED if known is None else known.kind


def always_there(system: str, name: str) -> frozenset[Role]:
    """Return the roles of fields that events have even if their records lack them, because zero is meaningful."""
    return REQUIRED_ROLES.get(kind_of(system, name), frozenset()) | _OF_COUNTERS


def native_of(system: str, name: str, number: int) -> bytes:
    """Return `EventClass.native` of an event by its field number in FtraceEvent."""
    is_described = number >= FtraceField.FIRST_DESCRIBED
    return DESCRIBED_EVENT if is_described and kind_of(system, name) is Kind.MARK else b""


def tracepoint_class(
    system: str, name: str, program: tuple[ProgramField, ...], native: bytes = b""
) -> EventClass:
    """Return the class of a kernel event: common_flags, then the fields of its message."""
    known = known_meaning(system, name) or Meaning(Kind.TYPED)
    fields = [COMMON_FLAGS]
    used: set[Role] = set()
    for item in program:
        role = known.roles.get(item.name, Role.NONE)
        if role in used:
            role = Role.NONE
        used.add(role)
        field_class = item.field_class
        is_symbol = (name, item.name) in SYMBOL_FIELDS and (system, name) in number_of_tracepoint()
        if is_symbol and isinstance(field_class, IntegerClass):
            field_class = IntegerClass(field_class.bits, field_class.signed, Style.SYMBOL)
        fields.append(Field(item.name, field_class, role))
    return EventClass(known.kind, name, system, tuple(fields), native=native)


@cache
def message_fields(system: str, name: str) -> tuple[tuple[int, Field], ...]:
    """Return number and declaration of each field of a typed event's message."""
    event = typed_event(number_of_tracepoint()[system, name])
    assert event is not None
    fields = tracepoint_class(system, name, event.fields).fields[1:]
    return tuple((item.number, field) for item, field in zip(event.fields, fields, strict=True))


@cache
def naming_events() -> dict[int, tuple[tuple[int, int], ...]]:
    """Return, by field number in FtraceEvent, the numbers of the tid and name fields of each task in an event."""
    result = {}
    # Looking up all systems' events would take longer than reading a small trace.
    events = typed_events_by_name()
    for (system, name), known in MEANINGS.items():
        event = events.get(name)
        if event is None or system in PREFIXED_SYSTEMS:
            continue
        named = tuple(pair for pair in NAMING_ROLES if {*pair} <= {*known.roles.values()})
        if not named:
            continue
        numbers = {known.roles.get(item.name): item.number for item in event.fields}
        result[event.number] = tuple(
            (numbers[tid], numbers[name]) for tid, name in named if {tid, name} <= numbers.keys()
        )
    return {event: named for event, named in result.items() if named}


def is_plain(event_class: EventClass) -> bool:
    """Return True if a class of typed events has the fields of the message and no others."""
    declared = message_fields(event_class.category, event_class.name)
    return event_class.fields == (COMMON_FLAGS, *(field for _, field in declared))


def function_class() -> EventClass:
    """Return the class of the kernel's function tracer, for which there is no message."""
    address = IntegerClass(64)
    program = (ProgramField(1, "ip", address, 0), ProgramField(2, "parent_ip", address, 0))
    return tracepoint_class("ftrace", "function", program)


#: The fields of sched_switch and sched_waking in compact_sched: the column in the table of `proto_ftrace.fill_bundles`
#: for each field of the typed event; it has no others.
COMPACT_SWITCH: Final = {
    "prev_pid": 0,
    "prev_prio": 1,
    "prev_comm": 2,
    "prev_state": 3,
    "next_pid": 4,
    "next_prio": 5,
    "next_comm": 6,
}
COMPACT_WAKING: Final = {"pid": 0, "target_cpu": 1, "prio": 2, "comm": 3}
#: The same by the name of the event.
COMPACT_EVENTS: Final = {"sched_switch": COMPACT_SWITCH, "sched_waking": COMPACT_WAKING}


@cache
def compact_class(name: str) -> EventClass:
    """Return the class of an event in compact_sched: the typed event's, with the fields that are there."""
    event = typed_event(number_of_tracepoint()["sched", name])
    assert event is not None
    fields = tuple(item for item in event.fields if item.name in COMPACT_EVENTS[name])
    return tracepoint_class("sched", name, fields, COMPACT_SCHED)
