"""Systems and names of the kernel's events, from the single word that other recorders of the kernel use.

Such a word is system and name, or the name alone where it begins with the system: `kmem_mm_page_alloc` is
`kmem:mm_page_alloc`, `block_dirty_buffer` is `block:block_dirty_buffer`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from converter.formats.ftrace.kernel_formats import kernel_format
from converter.ir.events import EventClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain.linux_tracepoints import meaning

#: Systems of include/trace/events/*.h and of drivers whose events are recorded; the longest match counts.
_SYSTEMS: Final = frozenset(
    {
        *(
            "alarmtimer",
            "asoc",
            "block",
            "bpf_trace",
            "bridge",
            "btrfs",
            "cgroup",
            "clk",
            "cma",
            "compaction",
        ),
        *(
            "cpuhp",
            "devfreq",
            "devlink",
            "dma_fence",
            "drm",
            "exceptions",
            "ext3",
            "ext4",
            "f2fs",
            "fib",
        ),
        *(
            "fib6",
            "filelock",
            "filemap",
            "fs_dax",
            "gpio",
            "hda",
            "huge_memory",
            "hwmon",
            "i2c",
            "iommu",
        ),
        *(
            "ipi",
            "irq",
            "irq_matrix",
            "irq_vectors",
            "jbd",
            "jbd2",
            "kmem",
            "ksm",
            "kvm",
            "libata",
            "lock",
        ),
        *(
            "mce",
            "mdio",
            "migrate",
            "mmap",
            "mmc",
            "module",
            "msr",
            "napi",
            "neigh",
            "net",
            "nfs",
            "nfsd",
        ),
        *(
            "nmi",
            "nvme",
            "oom",
            "page_isolation",
            "page_pool",
            "pagemap",
            "percpu",
            "power",
            "printk",
            "pwm",
        ),
        *(
            "qdisc",
            "random",
            "ras",
            "rcu",
            "regmap",
            "regulator",
            "rpc",
            "rpm",
            "rseq",
            "rtc",
            "sched",
            "scsi",
        ),
        *(
            "signal",
            "skb",
            "smbus",
            "sock",
            "spi",
            "sunrpc",
            "swiotlb",
            "sync_trace",
            "syscalls",
            "task",
        ),
        *(
            "tcp",
            "tegra_apb_dma",
            "thermal",
            "timer",
            "tlb",
            "udp",
            "v4l2",
            "vb2",
            "vmalloc",
            "vmscan",
        ),
        *("vsyscall", "wbt", "workqueue", "writeback", "xdp", "xen", "xfs", "xhci-hcd"),
    }
)
#: Systems whose events do not begin with the system's name, except those that `kernel_format` knows.
_BARE: Final = frozenset({"asoc", "kmem", "power", "printk", "random", "irq_vectors", "exceptions"})
#: The events of system calls, and the kernel's names for them.
_SYSCALLS: Final = {
    Kind.SYSCALL_ENTRY: ("syscall_entry_", "sys_enter_"),
    Kind.SYSCALL_EXIT: ("syscall_exit_", "sys_exit_"),
}


@cache
def kernel_point(word: str) -> tuple[str, str] | None:
    """Return the system and name of an event that nothing interprets; None for a word that is not the kernel's."""
    parts = word.split("_")
    for count in range(len(parts) - 1, 0, -1):
        system, name = "_".join(parts[:count]), "_".join(parts[count:])
        if system in _SYSTEMS:
            is_bare = kernel_format(system, name) is not None or (
                system in _BARE and kernel_format(system, word) is None
            )
            point = (system, name if is_bare else word)
            return point if name and meaning(*point).kind is Kind.TYPED else None
    return None


def syscall_point(event_class: EventClass) -> tuple[str, str] | None:
    """Return the kernel's event for a class of one system call, which has neither its number nor a system."""
    known = _SYSCALLS.get(event_class.kind)
    if (
        known is None
        or event_class.category
        or event_class.index_of(Role.SYSCALL_NUMBER) is not None
    ):
        return None
    prefix, own = known
    call = event_class.name.removeprefix(prefix)
    return ("syscalls", own + call) if call and call != event_class.name else None
