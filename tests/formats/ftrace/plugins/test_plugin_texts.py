"""Texts of the report that trace-cmd leaves to plugins: those of events, and functions of print formats."""

import shutil
from random import Random

import pytest
from support.trace_cmd.files import File, Kernel, format_text
from support.trace_cmd.reports import ours, texts, theirs

MMU_FIELDS = (
    "__u8 mmu_valid_gen 8 1 0\n__u64 gfn 16 8 0\n__u32 role 24 4 0\n__u32 root_count 28 4 0\n"
    "bool unsync 32 1 0"
)


@pytest.mark.parametrize(
    ("name", "system", "fields", "layout", "values", "text"),
    [
        (
            "sched_wakeup",
            "sched",
            "char comm[16] 8 16 0\npid_t pid 24 4 1\nint prio 28 4 1\nint success 32 4 1\nint target_cpu 36 4 1",
            "16siiii",
            (b"x", 9, 120, 1, 3),
            "x:9 [120] success=1 CPU:003",
        ),
        (
            "hrtimer_start",
            "timer",
            "void * hrtimer 8 8 0\nvoid * function 16 8 0\ns64 expires 24 8 1\ns64 softexpires 32 8 1",
            "QQQQ",
            (0xFF10, 0x2000, 5, 6),
            "hrtimer=0xff10 function=middle/0x0 expires=5 softexpires=6",
        ),
        (
            "hrtimer_expire_entry",
            "timer",
            "void * hrtimer 8 8 0\ns64 now 16 8 1\nvoid * function 24 8 0",
            "QQQ",
            (0xFF10, 7, 0x2010),
            "hrtimer=0xff10 now=7 function=middle/0xfffffffffffffff0",
        ),
        ("kfree", "kmem", "unsigned long call_site 8 8 0", "Q", (0x2010,), "(middle+0x10) plain"),
        ("kfree", "kmem", "unsigned long call_site 8 8 0", "Q", (5,), "plain"),
        (
            "tlb_flush", "tlb",
            "int reason 8 4 1\nunsigned long pages 16 8 0",
            "ixxxxq",
            (1, -1),
            "pages=-1 reason=remote shootdown (1)",
        ),
        (
            "sys_enter_futex",
            "syscalls",
            (
                "u32 * uaddr 8 8 0\nint op 16 8 0\nu32 val 24 8 0\nvoid * utime 32 8 0\nu32 * uaddr2 40 8 0\n"
                "u32 val3 48 8 0"
            ),
            "QQQQQQ",
            (0x10, 128 | 9, 1, 2, 3, 4),
            "op=FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG uaddr=0x00000010 val=0x00000001 utime=0x00000002 val3=0x00000004",
        ),
        (
            "kvm_exit",
            "kvm",
            (
                "unsigned int exit_reason 8 4 0\nunsigned long guest_rip 16 8 0\nu32 isa 24 4 0\n"
                "u64 info1 32 8 0\nu64 info2 40 8 0"
            ),
            "IxxxxQIxxxxQQ",
            (0x7C, 0x55, 2, 8, 9),
            "reason EXIT_MSR rip 0x55 info 8 9",
        ),
        (
            "kvm_entry", "kvm",
            "unsigned int vcpu_id 8 4 0\nunsigned long rip 16 8 0",
            "IxxxxQ",
            (3, 16),
            "vcpu 3 rip 0x10",
        ),
        (
            "kvm_emulate_insn",
            "kvm",
            (
                "__u64 rip 8 8 0\n__u32 csbase 16 4 0\n__u8 len 20 1 0\n__u8 insn[15] 21 15 0\n"
                "__u8 flags 36 1 0\n__u8 failed 37 1 0"
            ),
            "QIB15sBB",
            (0x10, 1, 2, b"\x0f\x05\xff", 0, 1),
            "1:10: 0f 05 FAIL",
        ),
        (
            "kvm_mmu_get_page",
            "kvmmmu",
            MMU_FIELDS + "\nbool created 33 1 0",
            "QQIIBB",
            (0, 0x55, 0x0100_0E82 | 3 << 5, 8, 1, 0),
            "existing sp gfn 55 2 q3 direct wu- invalid !pae !nxe !wp smm root 8 unsync",
        ),
        (
            "kvm_mmu_zap_page", "kvmmmu", MMU_FIELDS, "QQIIBB", (0, 0, 0xF010, 7, 0, 0),
            "0 q0 --- pae nxe wp smep smap root 7 sync",
        ),
        (
            "drv_bss_info_changed",
            "mac80211",
            (
                "char wiphy_name[8] 8 8 0\nu32 vif_type 16 4 0\nbool assoc 20 1 0\nbool enable_beacon 21 1 0\n"
                "u16 assoc_cap 22 2 0\nu32 basic_rates 24 4 0"
            ),
            "8sIBBHI",
            (b"phy0", 2, 1, 1, 0x431, 0),
            "phy0 vif:NOTFOUND:vif_name(2){0}assoc:1      {0} assoc_cap:0x431 basic_rates:0 enable_beacon:1{0}".format(
                "\n" + 65 * " "
            ).rstrip(),
        ),
        (
            "raw_data", "ftrace",
            "unsigned int id 8 4 0\nchar buf[] 12 0 0",
            "I4s",
            (171, b"\x01\x02\x03\x04"),
            "# ab 01 02 03 04",
        ),
        (
            "func_repeats",
            "ftrace",
            (
                "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nu16 count 24 2 0\n"
                "u16 top_delta_ts 26 2 0\nu32 bottom_delta_ts 28 4 0"
            ),
            "QQHHI",
            (0x2010, 0x1000, 3, 0, 500),
            "middle (count: 3  last_ts:     1.000000500)",
        ),
        (
            "kernel_stack",
            "ftrace",
            "int size 8 4 1\nunsigned long caller[8] 16 64 0",
            "ixxxxQQ",
            (2, 0x3010, 0x10),
            "<stack trace >\n=> inner (3010)\n=> 10",
        ),
        (
            "function", "ftrace",
            "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0",
            "QQ",
            (8208, 4112),
            "middle",
        ),
        (
            "function",
            "ftrace",
            "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nunsigned long args[] 24 0 0",
            "QQQQ",
            (0x2010, 0x1010, 1, 255),
            "middle(1, ff)",
        ),
    ],
)  # fmt: skip
def test_plugins_have_texts_of_their_own(name, system, fields, layout, values, text):
    assert texts(77, name, fields, [Kernel().pack(layout, *values)], system) == [text]


HYPERCALLS = (
    "xen",
    "xen_mc_entry",
    "unsigned int op 8 4 0",
    '"op %u%s", REC->op, xen_hypercall_name(REC->op)',
    [number.to_bytes(4, "little") for number in range(64)],
)
#: Each command, with all of its bytes: below 0x80, as trace-cmd takes the higher ones for signed numbers.
COMMANDS = (
    "scsi",
    "scsi_dispatch_cmd_start",
    "unsigned int cmd_len 8 4 0\n__data_loc unsigned char[] cmnd 12 4 0",
    '"%s", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->cmd_len)',
    [
        (32).to_bytes(4, "little") + (32 << 16 | 16).to_bytes(4, "little") + bytes(block)
        for code, services in {
            **dict.fromkeys(
                (8, 10, 40, 42, 47, 65, 168, 170, 175, 136, 138, 143, 147), (0x18, 0x6B)
            ),
            **dict.fromkeys((66, 18, 0), (0,)),
            158: (0x10, 0x12, 5),
            127: (9, 10, 11, 13, 1),
        }.items()
        for service in services
        for block in [[code, service, *range(7, 13), 0, service, 0x68, *range(40, 61)]]
    ],
)


@pytest.mark.parametrize(
    ("system", "name", "fields", "print_fmt", "records"),
    [HYPERCALLS, COMMANDS],
    ids=["xen", "scsi"],
)
def test_functions_of_print_formats_are_those_of_plugins(
    tmp_path, system, name, fields, print_fmt, records
):
    k = Kernel()
    text = format_text(name, 900, fields, print_fmt)
    pages = k.page(10**9, *(k.record(1000, k.common(900, 42) + record) for record in records))
    data = File(k, {0: pages}, formats={system: [text]}).version_7()
    (tmp_path / "trace.dat").write_bytes(data)
    found = ours(data).splitlines()
    assert len(found) == len(records) + 1
    assert not any(b"FAILED" in line for line in found)
    if not shutil.which("trace-cmd-3.4"):
        pytest.skip("trace-cmd-3.4 is not installed")
    assert found == theirs("trace-cmd-3.4", tmp_path / "trace.dat").splitlines()


#: Events of a kernel that plugins know, and what draws a record: of commands all bytes that are looked at, as above.
DRAWN = {
    "xen_mc_entry": (
        "xen",
        "unsigned int op 8 4 0\nunsigned int nargs 12 4 0\nunsigned long args[6] 16 48 0",
        '"op %u%s args [%lx, %lx]", REC->op, xen_hypercall_name(REC->op), REC->args[0], REC->args[5]',
        lambda draw: draw.randrange(70).to_bytes(4, "little") + draw.randbytes(52),
    ),
    "scsi_dispatch_cmd_start": (
        "scsi",
        (
            "unsigned int opcode 8 4 0\nunsigned int cmd_len 12 4 0\nint prot_op 16 4 1\n"
            "__data_loc unsigned char[] cmnd 20 4 0"
        ),
        (
            '"prot_op=%s cmnd=(%s %s raw=%s)", __print_symbolic(REC->prot_op, { 0, "NORMAL" }, { 1, "INSERT" }), '
            '__print_symbolic(REC->opcode, { 0x08, "READ_6" }, { 0x28, "READ_10" }, { 0x7f, "VARIABLE" }), '
            "scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->cmd_len), "
            "__print_hex(__get_dynamic_array(cmnd), REC->cmd_len)"
        ),
        lambda draw: _command(
            draw.choice([0, *_COMMAND_CODES, draw.randrange(256)]),
            bytes(draw.randrange(128) for _ in range(draw.randrange(32, 40))),
            draw,
        ),
    ),
    "drv_bss_info_changed": (
        "mac80211",
        (
            "char wiphy_name[32] 8 32 0\nu32 vif_type 40 4 0\n__data_loc char[] vif_name 44 4 0\nbool assoc 48 1 0\n"
            "bool cts 49 1 0\nbool shortpre 50 1 0\nbool enable_beacon 51 1 0\nu16 aid 52 2 0\nu8 dtimper 54 1 0\n"
            "u16 bcnint 56 2 0\nu16 assoc_cap 58 2 0\nu32 basic_rates 60 4 0\nu16 ht_operation_mode 64 2 0"
        ),
        '"%s vif:%s(%d)", REC->wiphy_name, __get_str(vif_name), REC->vif_type',
        lambda draw: (
            draw.choice([b"phy0", b"phy12", b""]).ljust(32, b"\0")
            + draw.randbytes(4)
            + (6 << 16 | 66).to_bytes(4, "little")
            + draw.randbytes(18)
            + b"wlan0\0"
        ),
    ),
}
_COMMAND_CODES = (8, 10, 40, 42, 47, 65, 66, 127, 127, 136, 138, 143, 147, 158, 158, 168, 170, 175)


def _command(code, block, draw):
    service = draw.choice([0x10, 0x12, block[1]]) if code == 158 else block[1]
    variable = (0, draw.randrange(15)) if code == 127 else block[8:10]
    block = bytes([code, service, *block[2:8], *variable, *block[10:]])
    numbers = code, len(block), draw.randrange(3), len(block) << 16 | 24
    return b"".join(number.to_bytes(4, "little") for number in numbers) + block


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_records_are_shown_as_plugins_show_them(name, tmp_path):
    system, fields, print_fmt, record = DRAWN[name]
    draw, k = Random(1), Kernel()
    text = format_text(name, 900, fields, print_fmt)
    records = [k.record(1000, k.common(900, 42) + record(draw)) for _ in range(30)]
    data = File(k, {0: k.page(10**9, *records)}, formats={system: [text]}).version_7()
    (tmp_path / "trace.dat").write_bytes(data)
    found = ours(data)
    assert found.count(b": %s: " % name.encode()) == 30
    assert b"FAILED" not in found
    if not shutil.which("trace-cmd-3.4"):
        pytest.skip("trace-cmd-3.4 is not installed")
    assert found == theirs("trace-cmd-3.4", tmp_path / "trace.dat")


def test_commands_with_large_addresses():
    block = bytes([0x2A, 0x20, 0x90, 0x3A, 0, 1, 0, 0xFF, 1, 0])
    record = bytes([10, 0, 0, 0, 16, 0, 10, 0]) + block
    system, name, fields, print_fmt, _ = COMMANDS
    assert texts(900, name, fields, [record], system, print_fmt) == [
        "lba=2419720193 txlen=65281 protect=1"
    ]
