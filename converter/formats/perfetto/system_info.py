"""Converts SystemInfo to entries of the environment, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Fields of SystemInfo.utsname: importers need the machine for names of system calls, and the release for task states,
#: which are otherwise those of Linux 4.4 (system_probes_parser.cc, task_state.cc). The names are CTF's where possible.
UTSNAME: Final = {
    "sysname": "sysname",
    "release": "kernel_release",
    "version": "kernel_version",
    "machine": "machine",
}
_NUMBERS: Final = {
    name: name
    for name in (
        *("hz", "page_size", "num_cpus", "timezone_off_mins"),
        *("android_sdk_version", "system_ram_bytes"),
    )
}
#: The other fields that describe a computer.
SYSTEM: Final = {
    "machine_name": "hostname",
    **{
        name: name
        for name in (
            *("android_build_fingerprint", "android_soc_model", "android_hardware_revision"),
            *("android_storage_model", "android_ram_model", "android_guest_soc_model"),
            *("android_device_manufacturer", "android_serial_console"),
        )
    },
    **_NUMBERS,
}
#: Fields with 64-bit numbers; all others have 32 bits.
_WIDE: Final = {"system_ram_bytes"}


def system_info_message(environment: Mapping[str, str | int]) -> dict[str, Any]:
    """Return the SystemInfo for an environment."""
    names = _texts(UTSNAME, environment)
    texts = {name: key for name, key in SYSTEM.items() if name not in _NUMBERS}
    form: dict[str, Any] = {"utsname": names} if names else {}
    form.update(_texts(texts, environment))
    for name, key in _NUMBERS.items():
        value = environment.get(key)
        most = 1 << (63 if name in _WIDE else 31)
        if isinstance(value, int) and -most <= value < most:
            form[name] = value
    return form


def _texts(fields: Mapping[str, str], environment: Mapping[str, str | int]) -> dict[str, bytes]:
    return {
        name: value.encode("utf-8", "replace")
        for name, key in fields.items()
        if isinstance(value := environment.get(key), str)
    }
