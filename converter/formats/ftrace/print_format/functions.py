"""Kernel functions that formats call for the name of a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: `enum hw_event_mc_err_type` (include/linux/edac.h), for `mc_event_error_type()` of ras_event.h.
_MC_ERRORS: Final = ("Corrected", "Uncorrected", "Deferred", "Fatal")
#: Xen's hypercalls in the order of their numbers (xen/include/public/xen.h), of which 11 is unused.
_HYPERCALLS: Final = (
    "set_trap_table", "mmu_update", "set_gdt", "stack_switch", "set_callbacks", "fpu_taskswitch", "sched_op_compat",
    "dom0_op", "set_debugreg", "get_debugreg", "update_descriptor", "", "memory_op", "multicall", "update_va_mapping",
    "set_timer_op", "event_channel_op_compat", "xen_version", "console_io", "physdev_op_compat", "grant_table_op",
    "vm_assist", "update_va_mapping_otherdomain", "iret", "vcpu_op", "set_segment_base", "mmuext_op", "acm_op",
    "nmi_op", "sched_op", "callback_op", "xenoprof_op", "event_channel_op", "physdev_op", "hvm_op",
)  # fmt: skip
#: The numbers of architecture-specific hypercalls: first and count.
_FIRST_OF_ARCH, _OF_ARCH = 48, 8


def _mc_error(value: int) -> str:
    return _MC_ERRORS[value] if value < len(_MC_ERRORS) else "Info"


def _device_name(value: int) -> str:
    return f"{value >> 20}:{value & 0xFFFFF}"


def _hypercall(value: int) -> str:
    name = _HYPERCALLS[value] if value < len(_HYPERCALLS) else ""
    if 0 <= value - _FIRST_OF_ARCH < _OF_ARCH:
        name = f"arch_{value - _FIRST_OF_ARCH}"
    return f"({name})" if name else ""


TEXT_FUNCTIONS: Final[dict[str, Callable[[int], str]]] = {
    "mc_event_error_type": _mc_error,
    "jbd2_dev_to_name": _device_name,
    "xen_hypercall_name": _hypercall,
}
