"""Records what many tasks do on this machine, and converts that: ``python -m tests.recordings --tasks 200 1000 5000``.

Linux and root are needed, and trace-cmd. Events of the scheduler, of interrupts, of tasks and signals are enabled in an
instance of tracefs of this command's own, which is gone afterwards, so that nothing else on the machine is changed.
Meanwhile programs run that make as many tasks as are asked for, in turn

    forks       processes, each of which executes a program and ends
    threads     threads of a process that are all there at the same time, and wake each other
    messaging   processes that write to each other (``perf bench sched messaging``, where there is perf)

With ``--guest CPUS`` the tasks run in a virtual machine that has that many CPUs, and nothing is recorded on this one:
qemu boots a kernel that apt downloads, or the one given with ``--kernel``. No root is needed for that.

The report of each recording is that of trace-cmd 3.4, where that is on PATH, byte for byte. Each conversion ends well
and writes the same each time, in a process of its own, every other one with memory that is filled when it is freed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.system import guest  # noqa: E402 - the path is set above

TRACING = Path("/sys/kernel/tracing")
EVENTS = ("sched", "irq", "task", "signal")
#: KiB of memory for the events of each CPU: what does not fit is overwritten, the oldest first.
BUFFER = 4096
TARGETS = (
    "ir",
    "trace_cmd+v6",
    "fxt",
    "uftrace",
    "ctf",
    "ctf+2",
    "lttng_legacy",
    "perfetto",
    "chrome",
    "aix",
    "parquet",
    "arrow",
)
#: The version of trace-cmd whose report is compared.
COMPARED = ("trace-cmd-3.4", "trace-cmd")
_SECONDS = 300
_INSTANCE = re.compile(rb"^ *traceconv\d+: ")
#: Letters of what a command says of errors.
_TOLD = 5000
#: What glibc fills freed memory with.
_PERTURBED = {"MALLOC_PERTURB_": "165"}


def forks(tasks: int) -> None:
    """Processes that execute a program and end, one after the other."""
    program = shutil.which("true") or "/bin/true"
    for _ in range(tasks):
        os.waitpid(os.posix_spawn(program, [program], os.environ), 0)


def threads(tasks: int) -> None:
    """Threads that are all there at the same time, and each wake the next."""
    code = f"from tests.recordings import wake; wake({tasks})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=_SECONDS)


def wake(tasks: int) -> None:
    """Have threads wake each other, in a process whose threads they are."""
    threading.stack_size(1 << 16)
    turns = [threading.Event() for _ in range(tasks + 1)]

    def run(number: int) -> None:
        turns[number].wait()
        turns[number + 1].set()

    started = [threading.Thread(target=run, args=(number,)) for number in range(tasks)]
    for one in started:
        one.start()
    turns[0].set()
    for one in started:
        one.join()


def messaging(tasks: int) -> None:
    """Groups of 40 processes, of which 20 write to 20 others."""
    groups = str(max(tasks // 40, 1))
    command = ["perf", "bench", "sched", "messaging", "-g", groups, "-l", "2"]
    subprocess.run(command, check=True, timeout=_SECONDS, stdout=subprocess.DEVNULL)


LOADS: dict[str, Callable[[int], None]] = {"forks": forks, "threads": threads}
if shutil.which("perf"):
    LOADS["messaging"] = messaging


@contextmanager
def recording(name: str) -> Iterator[Path]:
    """An instance of tracefs in which events are recorded; it is gone when the context is left."""
    if not (TRACING / "instances").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    instance = TRACING / "instances" / name
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER))
        for system in EVENTS:
            switch = instance / "events" / system / "enable"
            if switch.exists():
                switch.write_text("1")
        yield instance
    finally:
        # trace-cmd takes an instance away when it has extracted what is in it.
        if instance.is_dir():
            for system in EVENTS:
                switch = instance / "events" / system / "enable"
                if switch.exists():
                    switch.write_text("0")
            instance.rmdir()


def record(path: Path, load: Callable[[int], None], tasks: int) -> None:
    """Record what a number of tasks do."""
    name = f"traceconv{os.getpid()}"
    with recording(name) as instance:
        load(tasks)
        (instance / "tracing_on").write_text("0")
        extract = ["trace-cmd", "extract", "-B", name, "-o", str(path)]
        subprocess.run(extract, check=True, timeout=_SECONDS, capture_output=True)


def guests(
    folder: Path, options: argparse.Namespace
) -> list[tuple[Path, Callable[[Path], None] | None]]:
    """Recordings of virtual machines; none, and the reason on standard output, where something is missing."""
    try:
        if missing := guest.missing_programs():
            raise guest.MissingError(missing)
        kernel = options.kernel or guest.downloaded_kernel(ROOT / "build" / "kernels")
    except guest.MissingError as error:
        sys.stdout.write(f"guests were skipped: {error}\n")
        return []
    return [
        (
            folder / f"guest-{cpus}-{tasks}.dat",
            partial(
                guest.record,
                kernel=kernel,
                accelerator=options.accel or guest.default_accelerator(),
                cpus=cpus,
                tasks=tasks,
                events=EVENTS,
                buffer=BUFFER,
            ),
        )
        for cpus in options.guest
        for tasks in options.tasks
    ]


def contents_of(path: Path) -> str:
    """The number of events in a recording, and of tasks and CPUs that they name."""
    import numpy as np

    import converter

    count = 0
    cpus: set[int] = set()
    with converter.open_trace(path) as trace:
        for batch in trace.batches():
            count += len(batch.cpu)
            cpus.update(np.unique(batch.cpu).tolist())
        return f"{count:,} events, {len(trace.threads):,} tasks, {len(cpus - {-1}):,} CPUs"


def command(*arguments: object) -> list[str]:
    """A command of this package's."""
    return [sys.executable, "-m", "converter", *map(str, arguments)]


def ended(line: list[str], perturbed: bool) -> tuple[int, bytes, str]:
    """How a command ended, what it printed, and the end of what it said of errors.

    One that does not end is aborted, and says where its threads were.
    """
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", **(_PERTURBED if perturbed else {})}
    with subprocess.Popen(
        line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            printed, told = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            printed, told = process.communicate()
    return process.returncode, printed, told.decode("utf-8", "replace")[-_TOLD:]


def reporter() -> str | None:
    """The program whose report is ours, if it is installed."""
    for program in filter(shutil.which, COMPARED):
        told = subprocess.run([program, "-h"], capture_output=True, text=True, check=False)
        if "version 3.4" in told.stdout + told.stderr:
            return program
    return None


def report_faults(path: Path) -> Iterator[str]:
    """How our report differs from that of trace-cmd."""
    program = reporter()
    if program is None:
        return
    line = [program, "report", "-t", str(path)]
    theirs = subprocess.run(line, capture_output=True, check=True, timeout=_SECONDS).stdout
    status, ours, told = ended(command("report", path), perturbed=True)
    if status:
        yield f"report ended with {status}: {told}"
        return
    mine, others = without_instances(ours), without_instances(theirs)
    for number, (line_here, line_there) in enumerate(itertools.zip_longest(mine, others)):
        if line_here != line_there:
            yield f"line {number + 1} of the report is {line_here!r}, not {line_there!r}"
            return


def without_instances(report: bytes) -> Iterator[bytes]:
    """The lines of a report; those after lost events without the instance, which trace-cmd leaves out there."""
    is_after_loss = False
    for line in report.splitlines():
        yield _INSTANCE.sub(b"", line) if is_after_loss else line
        is_after_loss = line.endswith(b"EVENTS DROPPED]")


def digest(path: Path) -> str:
    """A checksum of a file, or of all files of a folder with their names."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    found = hashlib.sha256()
    for file in files:
        found.update(str(file.relative_to(path)).encode() + file.read_bytes())
    return found.hexdigest()


def conversion_faults(path: Path, target: str, times: int) -> Iterator[str]:
    """What is wrong with one of so many conversions."""
    seen = ""
    for number in range(times):
        with tempfile.TemporaryDirectory(prefix="traceconv-recordings-") as folder:
            output = Path(folder) / "out"
            line = command(path, "-o", output, "-t", target)
            status, _, told = ended(line, perturbed=number % 2 == 1)
            if status:
                yield f"{target}, time {number + 1}: ended with {status}: {told}"
                continue
            written = digest(output)
            if seen and written != seen:
                yield f"{target}, time {number + 1}: other bytes than before"
            seen = written


def check(path: Path, targets: list[str], times: int) -> list[str]:
    """What is wrong with a recording's report and conversions."""
    faults = [*report_faults(path)]
    for target in targets:
        faults += conversion_faults(path, target, times)
    return [f"{path.name}: {fault}" for fault in faults]


def main() -> int:
    """Record and check; 1 if anything was found, and then the recordings concerned are kept."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.recordings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--load", choices=LOADS, action="append", help="all of them by default")
    parser.add_argument("--format", action="append", help="convert to this only")
    parser.add_argument("--times", type=int, default=3, help="how often each is converted")
    parser.add_argument("--keep", type=Path, help="a folder that keeps all recordings")
    parser.add_argument(
        "--guest", type=int, nargs="+", metavar="CPUS", help="record in virtual machines instead"
    )
    parser.add_argument("--kernel", type=Path, help="the guests' kernel, as in /boot/vmlinuz")
    parser.add_argument(
        "--accel", choices=["kvm", "tcg"], help="kvm by default where /dev/kvm can be opened"
    )
    parser.add_argument("recording", nargs="*", type=Path, help="check these, and record nothing")
    options = parser.parse_args()
    # Whoever ends the command does not leave its instance of tracefs behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    targets = options.format or [*TARGETS]
    kept = options.keep or ROOT / "build" / "recordings"
    kept.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    made: list[tuple[Path, Callable[[Path], None] | None]]
    if options.recording:
        made = [(path, None) for path in options.recording]
    elif options.guest:
        made = guests(kept, options)
    else:
        made = [
            (kept / f"{name}-{tasks}.dat", partial(record, load=LOADS[name], tasks=tasks))
            for tasks in options.tasks
            for name in options.load or LOADS
        ]
    for path, maker in made:
        if maker is not None:
            maker(path)
        start = time.monotonic()
        faults = check(path, targets, options.times)
        failed += faults
        sys.stdout.write(
            f"{path.name}: {path.stat().st_size:,} bytes, {contents_of(path)},"
            f" {len(targets)} formats {options.times} times, {len(faults)} findings"
            f" ({time.monotonic() - start:.0f} s)\n"
        )
        sys.stdout.writelines(f"{fault}\n" for fault in faults)
        sys.stdout.flush()
        if maker is not None and not faults and not options.keep:
            path.unlink()
    if reporter() is None:
        sys.stdout.write("reports were not compared: there is no trace-cmd 3.4 on PATH\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
