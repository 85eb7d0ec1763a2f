"""Record in a virtual machine that has as many CPUs as asked for: qemu boots a distribution's kernel.

Neither root nor a disk image is needed. The guest runs from an initial RAM disk with busybox and this machine's
trace-cmd, and writes the recording to its second serial port, for which kernels need no modules.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

#: Programs that are needed, with Debian's packages that have them.
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "trace-cmd": "trace-cmd",
    "ldd": "libc-bin",
}
#: Packages that depend on the newest kernel: two of Debian's and one of Ubuntu's, the smallest first.
KERNELS = ("linux-image-cloud-amd64", "linux-image-amd64", "linux-image-virtual")
_IMAGE = re.compile(r"^\s*\|?Depends: (linux-image-\d\S+)$", re.MULTILINE)
_RECORDED = re.compile(r"^traceconv: (\d+) bytes ([0-9a-f]{64})\r?$", re.MULTILINE)
#: MiB of memory for the kernel and the recording, and for each CPU.
_MEMORY = 1024
_MEMORY_OF_A_CPU = 32
#: How long a guest may run, in seconds: without KVM, all of its CPUs share those of this machine.
_SECONDS = 1800
#: Characters of the guest's console in an error.
_CONSOLE = 5000

#: Kernels complain about guests whose CPUs wait for each other; the recording is none the worse for it.
_PARAMETERS = "console=ttyS0 quiet panic=-1 nowatchdog rcupdate.rcu_cpu_stall_suppress=1"

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o size=90% tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
stty -F /dev/ttyS1 raw
trace-cmd record -q -b {buffer} {events} -o /tmp/trace.dat /load
cat /tmp/trace.dat >/dev/ttyS1
stty -F /dev/ttyS1 cooked # waits until all is sent
echo "traceconv: $(wc -c </tmp/trace.dat) bytes $(sha256sum </tmp/trace.dat | cut -d ' ' -f 1)"
reboot -f
"""

#: Two shells for each CPU, of which one stays there.
_LOAD = """#!/bin/busybox sh
cpu=0
while [ $cpu -lt {cpus} ]; do
    taskset -c $cpu /work &
    /work &
    cpu=$((cpu + 1))
done
wait
"""

#: Four tasks each time: one that executes a program, two of which one waits for the other, one that gets a signal.
_WORK = """#!/bin/busybox sh
made=0
while [ $made -lt {tasks} ]; do
    /bin/busybox true
    echo | /bin/busybox cat >/dev/null
    sleep 100 &
    kill $!
    wait
    made=$((made + 4))
done
"""


class MissingError(Exception):
    """Something is not installed that is needed to start a guest."""


def missing_programs() -> str:
    """The programs that are not on PATH, and which packages have them; empty if there is none."""
    missing = {name: package for name, package in PROGRAMS.items() if shutil.which(name) is None}
    if not missing:
        return ""
    return f"{', '.join(missing)} not found (apt-get install {' '.join(missing.values())})"


def downloaded_kernel(folder: Path) -> Path:
    """Download and unpack the newest kernel of this machine's distribution, unless the folder has it.

    Raises:
        MissingError: There is no apt, none of its packages is a kernel, or it cannot be downloaded.
    """
    for program in ("apt-cache", "apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MissingError(f"{program} not found: give a kernel with --kernel")
    for package in KERNELS:
        depends = ["apt-cache", "depends", package]
        listed = subprocess.run(depends, capture_output=True, text=True, check=False).stdout
        if image := _IMAGE.search(listed):
            break
    else:
        raise MissingError(f"apt knows none of {', '.join(KERNELS)} (apt-get update)")
    unpacked = folder / image[1]
    if not [*unpacked.glob("boot/vmlinuz-*")]:
        with tempfile.TemporaryDirectory(prefix="traceconv-kernel-") as temporary:
            download = ["apt-get", "download", image[1]]
            done = subprocess.run(
                download, cwd=temporary, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise MissingError(f"{image[1]} cannot be downloaded: {done.stderr.strip()}")
            (file,) = Path(temporary).glob("*.deb")
            unpacked.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", file, unpacked], check=True)
    kernels = [*unpacked.glob("boot/vmlinuz-*")]
    if not kernels:
        raise MissingError(f"{image[1]} has no kernel: give one with --kernel")
    return kernels[0]


def libraries_of(program: str) -> list[Path]:
    """Return the shared libraries that a program is linked with, and its loader."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [Path(word) for word in listed.split() if word.startswith("/")]


def initial_ramdisk(
    path: Path, cpus: int, tasks: int, events: tuple[str, ...], buffer: int
) -> None:
    """Write the archive that the guest runs from."""
    programs = {name: shutil.which(name) for name in ("busybox", "trace-cmd")}
    enabled = " ".join(f"-e {shlex.quote(system)}" for system in events)
    scripts = {
        "init": _INIT.format(buffer=buffer, events=enabled),
        "load": _LOAD.format(cpus=cpus),
        "work": _WORK.format(tasks=tasks // (2 * cpus)),
    }
    with tempfile.TemporaryDirectory(prefix="traceconv-initramfs-") as temporary:
        root = Path(temporary)
        for name, program in programs.items():
            if program is None:
                raise MissingError(f"{name} not found")
            (root / "bin").mkdir(exist_ok=True)
            shutil.copy(program, root / "bin" / name)
        for library in libraries_of(str(programs["trace-cmd"])):
            copy = root / library.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        for name, text in scripts.items():
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        for name in ("proc", "sys", "dev", "tmp"):
            (root / name).mkdir()
        names = "".join(f"{one.relative_to(root)}\n" for one in sorted(root.rglob("*")))
        archived = subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"],
            cwd=root,
            input=names.encode(),
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    path.write_bytes(gzip.compress(archived, 1))


def default_accelerator() -> str:
    """KVM if this user may use it, else TCG, which emulates the CPUs."""
    return "kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


def record(
    path: Path,
    kernel: Path,
    accelerator: str,
    cpus: int,
    tasks: int,
    events: tuple[str, ...],
    buffer: int,
) -> None:
    """Record what about this many tasks do in a guest.

    Args:
        path: Where the recording is written.
        kernel: The kernel to boot, as a bzImage.
        accelerator: How qemu runs the guest's CPUs: ``kvm`` or ``tcg``.
        cpus: The number of the guest's CPUs.
        tasks: The number of tasks; each CPU gets the same number, at least 8.
        events: The systems whose events are recorded.
        buffer: KiB of the guest's memory for the events of each CPU.

    Raises:
        RuntimeError: The guest did not end, or what it sent is not what it recorded.
    """
    with tempfile.TemporaryDirectory(prefix="traceconv-guest-") as temporary:
        ramdisk = Path(temporary) / "initramfs.gz"
        sent = Path(temporary) / "trace.dat"
        initial_ramdisk(ramdisk, cpus, max(tasks, 8 * cpus), events, buffer)
        line = [
            *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot"),
            *("-accel", accelerator, "-cpu", "qemu64", "-smp", str(cpus)),
            *("-m", str(_MEMORY + cpus * _MEMORY_OF_A_CPU)),
            *("-kernel", str(kernel), "-initrd", str(ramdisk), "-append", _PARAMETERS),
            *("-serial", "stdio", "-serial", f"file:{sent}"),
        ]
        try:
            done = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            console = (error.stdout or b"").decode("utf-8", "replace")
            raise RuntimeError(
                f"the guest did not end in {_SECONDS} s with {accelerator}: {console[-_CONSOLE:]}"
            ) from None
        console = done.stdout.decode("utf-8", "replace")
        recorded = _RECORDED.search(console)
        if done.returncode or recorded is None:
            raise RuntimeError(f"the guest recorded nothing: {console[-_CONSOLE:]}")
        size, checksum = int(recorded[1]), recorded[2]
        content = sent.read_bytes()
        if len(content) != size or hashlib.sha256(content).hexdigest() != checksum:
            raise RuntimeError(f"the guest recorded {size} bytes, and sent {len(content)} others")
        path.write_bytes(content)
