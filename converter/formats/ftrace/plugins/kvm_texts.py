"""Texts of the events of KVM: the reason of a VM exit, and the emulated instruction.

The names of the reasons are those of arch/x86/include/uapi/asm/vmx.h and svm.h.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from converter.formats.ftrace.plugins.event_fields import (
    Emit,
    EventFields,
    decimal,
    hexadecimal,
    switch,
)
from converter.formats.ftrace.plugins.report_context import Maker, ReportContext
from converter.printing import program as op
from converter.printing.code import Code, Names

_VMX: Final = {
    0: "EXCEPTION_NMI", 1: "EXTERNAL_INTERRUPT", 2: "TRIPLE_FAULT", 7: "PENDING_INTERRUPT", 8: "NMI_WINDOW",
    9: "TASK_SWITCH", 10: "CPUID", 12: "HLT", 13: "INVD", 14: "INVLPG", 15: "RDPMC", 16: "RDTSC", 18: "VMCALL",
    19: "VMCLEAR", 20: "VMLAUNCH", 21: "VMPTRLD", 22: "VMPTRST", 23: "VMREAD", 24: "VMRESUME", 25: "VMWRITE",
    26: "VMOFF", 27: "VMON", 28: "CR_ACCESS", 29: "DR_ACCESS", 30: "IO_INSTRUCTION", 31: "MSR_READ",
    32: "MSR_WRITE", 36: "MWAIT_INSTRUCTION", 39: "MONITOR_INSTRUCTION", 40: "PAUSE_INSTRUCTION",
    41: "MCE_DURING_VMENTRY", 43: "TPR_BELOW_THRESHOLD", 44: "APIC_ACCESS", 45: "EOI_INDUCED", 48: "EPT_VIOLATION",
    49: "EPT_MISCONFIG", 50: "INVEPT", 52: "PREEMPTION_TIMER", 54: "WBINVD", 55: "XSETBV", 56: "APIC_WRITE",
    58: "INVPCID", 62: "PML_FULL", 63: "XSAVES", 64: "XRSTORS",
}  # fmt: skip
#: The reasons of SVM from 0x60 on, in their order.
_SVM_FROM_0X60: Final = (
    "INTR NMI SMI INIT VINTR CR0_SEL_WRITE IDTR_READ GDTR_READ LDTR_READ TR_READ IDTR_WRITE GDTR_WRITE LDTR_WRITE "
    "TR_WRITE RDTSC RDPMC PUSHF POPF CPUID RSM IRET SWINT INVD PAUSE HLT INVLPG INVLPGA IOIO MSR TASK_SWITCH "
    "FERR_FREEZE SHUTDOWN VMRUN VMMCALL VMLOAD VMSAVE STGI CLGI SKINIT RDTSCP ICEBP WBINVD MONITOR MWAIT MWAIT_COND "
    "XSETBV"
)
_EXCEPTIONS: Final = {
    0: "DE", 1: "DB", 3: "BP", 4: "OF", 5: "BR", 6: "UD", 7: "NM", 8: "DF", 10: "TS", 11: "NP", 12: "SS", 13: "GP",
    14: "PF", 16: "MF", 17: "AC", 18: "MC", 19: "XF",
}  # fmt: skip
_SVM: Final = {
    **{number: f"EXIT_READ_CR{number}" for number in (0, 3, 4, 8)},
    **{0x10 + number: f"EXIT_WRITE_CR{number}" for number in (0, 3, 4, 8)},
    **{0x20 + number: f"EXIT_READ_DR{number}" for number in range(8)},
    **{0x30 + number: f"EXIT_WRITE_DR{number}" for number in range(8)},
    **{0x40 + number: f"EXIT_EXCP_{name}" for number, name in _EXCEPTIONS.items()},
    **{0x60 + place: f"EXIT_{name}" for place, name in enumerate(_SVM_FROM_0X60.split())},
    0x400: "EXIT_NPF",
    0x401: "EXIT_AVIC_INCOMPLETE_IPI",
    0x402: "EXIT_AVIC_UNACCELERATED_ACCESS",
    0xFFFFFFFF: "EXIT_ERR",
}
#: The exit reasons by field `isa`: 1 is Intel's VMX, 2 AMD's SVM.
_REASONS: Final = {1: _VMX, 2: _SVM}
#: The longest instruction in bytes.
_MAX_INSTRUCTION: Final = 15


def _reason(code: Code, isa: Emit | None, number: Emit) -> None:
    def named(names: dict[int, str]) -> None:
        code.literal(b"reason ")
        number()
        code.named(op.LABEL, Names([(i, i, name.encode()) for i, name in names.items()]))
        code.unless_zero(lambda: _dropped(code), unknown)

    def unknown() -> None:
        code.literal(b"UNKNOWN (")
        code.add(op.DECIMAL, 64)
        code.literal(b")")

    if isa is None:
        named(_VMX)
        return
    cases = [(one, partial(named, names)) for one, names in _REASONS.items()]
    switch(code, isa, cases, lambda: code.literal(b"reason UNKNOWN-ISA"))


def _dropped(code: Code) -> None:
    code.add(op.DROP)


def _exit(fields: EventFields, _: ReportContext) -> Emit | None:
    code, reason, address = fields.code, fields.number("exit_reason"), fields.number("guest_rip")
    if reason is None or address is None:
        return None
    isa, first, second = fields.number("isa"), fields.number("info1"), fields.number("info2")

    def text() -> None:
        _reason(code, isa, reason)
        hexadecimal(code, address, b" rip 0x")
        if first is not None and second is not None:
            hexadecimal(code, first, b" info ")
            hexadecimal(code, second, b" ")

    return text


def _entry(fields: EventFields, _: ReportContext) -> Emit | None:
    code, cpu, address = fields.code, fields.number("vcpu_id"), fields.number("rip")
    if cpu is None:
        return None

    def text() -> None:
        code.literal(b" vcpu ")
        decimal(code, cpu)
        if address is not None:
            hexadecimal(code, address, b" rip 0x")

    return text


def _emulate_insn(fields: EventFields, _: ReportContext) -> Emit | None:
    base, address, length = fields.number("csbase"), fields.number("rip"), fields.number("len")
    failed, data = fields.number("failed"), fields.elements("insn")
    if base is None or address is None or length is None or failed is None or data is None:
        return None
    code = fields.code

    def goes_on() -> None:
        for most in (length, lambda: code.constant(_MAX_INSTRUCTION)):
            code.add(op.BEFORE, 2)
            most()
            code.add(op.LESS)
        code.add(op.BOTH)

    def text() -> None:
        hexadecimal(code, base, b"")
        hexadecimal(code, address, b":")
        code.literal(b": ")
        data.for_each(data.two_digits, between=b" ", goes_on=goes_on)
        failed()
        code.unless_zero(lambda: code.literal(b" FAIL"), None)

    return text


_NESTED: Final = ("exit_info1", "exit_info2", "exit_int_info", "exit_int_info_err")


def _nested(*, with_address: bool) -> Maker:
    def compile_text(fields: EventFields, _: ReportContext) -> Emit | None:
        code = fields.code
        reason, isa, address = (fields.number(name) for name in ("exit_code", "isa", "rip"))
        details = [(name.removeprefix("exit_"), fields.number(name)) for name in _NESTED]
        if reason is None or (with_address and address is None):
            return None

        def text() -> None:
            if with_address and address is not None:
                hexadecimal(code, address, b"rip ")
                code.literal(b" ")
            _reason(code, isa, reason)
            for name, one in details:
                if one is not None:
                    hexadecimal(code, one, f" {name} ".encode())

        return text

    return compile_text


#: The letters of a guest's access rights to a page.
_ACCESS: Final = (b"---", b"--x", b"w--", b"w-x", b"-u-", b"-ux", b"wu-", b"wux")
#: Bits of the role of a page: the texts where they are set, and where not.
_ROLE: Final = (
    (1 << 11, b" invalid", b""),
    (1 << 4, b" pae", b" !pae"),
    (1 << 12, b" nxe", b" !nxe"),
    (1 << 13, b" wp", b" !wp"),
    (1 << 14, b" smep", b""),
    (1 << 15, b" smap", b""),
    (0xFF << 24, b" smm", b""),
)


def _page_role(fields: EventFields) -> Emit | None:
    """Return the text of the role of a page of a guest's page tables (`union kvm_mmu_page_role`), and its users."""
    code, role = fields.code, fields.number("role")
    count, unsync = fields.number("root_count"), fields.number("unsync")
    if role is None or count is None or unsync is None:
        return None

    def bits(shift: int, mask: int) -> None:
        role()
        code.constant(shift)
        code.add(op.SHIFT_RIGHT)
        code.keep(mask)

    def either(text: bytes, other: bytes) -> None:
        code.unless_zero(lambda: code.literal(text), lambda: code.literal(other))

    def text() -> None:
        decimal(code, lambda: bits(0, 15))
        code.literal(b" q")
        decimal(code, lambda: bits(5, 3))
        bits(7, 1)
        either(b" direct ", b" ")
        bits(8, 7)
        code.letters(_ACCESS)
        for mask, present, absent in _ROLE:
            bits(0, mask)
            either(present, absent)
        code.literal(b" root ")
        decimal(code, count)
        unsync()
        either(b" unsync", b" sync")

    return text


def _page(fields: EventFields, _: ReportContext) -> Emit | None:
    return _page_role(fields)


def _new_page(fields: EventFields, _: ReportContext) -> Emit | None:
    code, role = fields.code, _page_role(fields)
    created, frame = fields.number("created"), fields.number("gfn")
    if role is None or created is None or frame is None:
        return None

    def text() -> None:
        created()
        code.unless_zero(lambda: code.literal(b"new"), lambda: code.literal(b"existing"))
        hexadecimal(code, frame, b" sp gfn ")
        code.literal(b" ")
        role()

    return text


KVM_TEXTS: Final[dict[tuple[str, str], Maker]] = {
    ("kvm", "kvm_exit"): _exit,
    ("kvm", "kvm_entry"): _entry,
    ("kvm", "kvm_emulate_insn"): _emulate_insn,
    ("kvm", "kvm_nested_vmexit"): _nested(with_address=True),
    ("kvm", "kvm_nested_vmexit_inject"): _nested(with_address=False),
    ("kvmmmu", "kvm_mmu_get_page"): _new_page,
    **{
        ("kvmmmu", f"kvm_mmu_{name}_page"): _page
        for name in ("sync", "unsync", "zap", "prepare_zap")
    },
}
