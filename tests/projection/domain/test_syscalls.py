import json
from importlib import resources

import pytest

from converter.projection.domain.syscalls import name_in_class, syscall_name, syscall_names

TABLE = json.loads(
    resources.files("converter.schemas").joinpath("linux/syscalls.json").read_bytes()
)["architectures"]


@pytest.mark.parametrize(
    ("machine", "number", "name"),
    [
        ("x86_64", 0, "sys_read"),
        ("x86_64", 15, "sys_rt_sigreturn"),
        ("x86_64", 334, "sys_rseq"),
        ("x86_64", 335, "sys_uretprobe"),
        ("x86_64", 449, "sys_futex_waitv"),
        ("i386", 3, "sys_read"),
        ("i686", 173, "sys_rt_sigreturn"),
        ("aarch64", 63, "sys_read"),
        ("aarch64", 139, "sys_rt_sigreturn"),
        ("armv7l", 3, "sys_read"),
        ("armv8l", 322, "sys_openat"),
        ("riscv64", 56, "sys_openat"),
        ("riscv64", 259, "sys_riscv_flush_icache"),
        ("s390x", 288, "sys_openat"),
        ("ppc64le", 286, "sys_openat"),
        ("ppc64", 172, "sys_rt_sigreturn"),
        ("x86_64", 1000, "sys_1000"),
        ("x86_64", -1, "sys_-1"),
        ("sparc64", 3, "sys_3"),
        ("", 3, "sys_3"),
    ],
)
def test_names(machine, number, name):
    assert syscall_name(machine, number) == name


@pytest.mark.parametrize("architecture", TABLE)
def test_a_table_is_sound(architecture):
    names = {int(number): name for number, name in TABLE[architecture]["names"].items()}
    assert list(names) == sorted(names)
    assert len(set(names.values())) == len(names)
    # Since 5.1 new system calls have one number everywhere (Documentation/process/adding-syscalls.rst).
    assert names[435] == "clone3"
    assert names[439] == "faccessat2"
    assert names[470] == "listns"
    assert set(names.values()) >= {"read", "write", "openat", "rt_sigreturn", "exit_group"}


def test_a_machine_has_one_architecture():
    patterns = [pattern for entry in TABLE.values() for pattern in entry["machines"]]
    assert len(set(patterns)) == len(patterns)
    assert syscall_names("i586") is not syscall_names("x86_64")


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("sys_enter_openat", "openat"),
        ("sys_exit_openat", "openat"),
        ("syscall_entry_openat", "openat"),
        ("compat_syscall_exit_openat", "openat"),
        ("sys_enter", None),
        ("sys_exit", None),
    ],
)
def test_name_in_class(class_name, name):
    assert name_in_class(class_name) == name
