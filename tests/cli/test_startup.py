"""What the command imports: no more than it uses, and of what is slow to import nothing that can be done without."""

import subprocess
import sys
from pathlib import Path

import pytest

from converter.registry import FORMATS

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "roundtrip_fixtures"
#: What help needs, and what everything else does.
HELP = {
    "converter",
    "converter.cli",
    "converter.cli.exit_codes",
    "converter.cli.prepared_help",
    "converter.cli.signals",
    "converter.ir",
    "converter.ir.hooks",
    "converter.storage",
    "converter.storage.interrupts",
}
BASIC = HELP | {
    "converter.cli.commands",
    "converter.cli.commands.table",
    "converter.cli.options",
    "converter.cli.options.completing",
    "converter.cli.options.shared",
    "converter.errors",
    "converter.errors.advice",
    "converter.limits",
    "converter.errors.terminal",
}
#: The descriptors of formats, and the little that they need to recognise an input.
DESCRIPTORS = {
    *(format.modules for format in FORMATS),
    "converter.formats.columnar",
    "converter.formats.profiles",
    "converter.formats.aix.layout",
    "converter.formats.ftrace_text.recognition",
    "converter.formats.profiles.cpuprofile.recognition",
    "converter.formats.profiles.pprof.recognition",
    "converter.formats.perf",
    "converter.formats.perf.script.recognition",
    "converter.formats.fxt.record_types",
}
TABLE = {
    "converter.formats",
    "converter.formats.descriptor",
    "converter.formats.table",
    "converter.errors.guarding",
    "converter.registry",
}
#: Modules of Python's own, and of NumPy's, that take their time.
SLOW = {
    "asyncio",
    "concurrent.futures",
    "email",
    "hashlib",
    "html",
    "http",
    "importlib.metadata",
    "importlib.resources",
    "json",
    "logging",
    "multiprocessing",
    "numpy.ma",
    "pdb",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "unittest",
    "urllib.request",
    "xml",
    "zipfile",
}
#: What modules that Cython has compiled call the things that they share.
CYTHONS = {"cython_runtime", "shared"}


def loaded(code):
    """The modules that a new interpreter has after this code."""
    program = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, cwd=ROOT
    )
    return set(result.stderr.splitlines()[-1].split())


#: What an interpreter has without us; an editable installation has a finder of its own.
BEFORE = loaded("")


def modules_of(*arguments):
    """The modules that a command imports."""
    run = f"from converter.cli import main\nassert main({list(map(str, arguments))!r}) == 0"
    return loaded(run) - BEFORE


def ours(modules):
    return {name for name in modules if name.partition(".")[0] == "converter"}


def foreign(modules):
    """The packages of other projects among them."""
    packages = {name.partition(".")[0] for name in modules if not name.startswith("_")}
    return packages - sys.stdlib_module_names - {"converter"} - CYTHONS


@pytest.mark.parametrize(
    ("arguments", "expected", "packages"),
    [
        (["--help"], HELP, set()),
        (["diff", "--help"], HELP, set()),
        (
            ["--version"],
            BASIC
            | {
                "converter.cli.commands.convert",
                "converter.cli.options.merging",
                "converter.cli.options.selecting",
                "converter.cli.output",
                "converter.cli.output.messages",
            },
            {"click"},
        ),
        (
            ["formats"],
            BASIC
            | TABLE
            | DESCRIPTORS
            | {
                "converter.cli.actions",
                "converter.cli.actions.listing",
                "converter.cli.commands.formats",
                "converter.cli.output",
                "converter.cli.output.tables",
                "converter.formats.plugins",
            },
            {"click"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_needs_no_trace_loads_next_to_nothing(arguments, expected, packages):
    modules = modules_of(*arguments)
    assert ours(modules) == expected
    assert foreign(modules) == packages
    if arguments != ["--version"]:
        assert modules & SLOW == set()


@pytest.mark.parametrize(
    ("source", "target", "rooms", "packages", "slow"),
    [
        ("trace_cmd/small.dat", "out.fxt", "trace_cmd ftrace fxt", "zstandard", ""),
        ("trace_cmd/scratch_v6_min.dat", "out.fxt", "trace_cmd ftrace fxt", "", ""),
        ("trace_cmd/small.dat", "out.dat", "trace_cmd ftrace", "zstandard", ""),
        ("uftrace/rich", "out.fxt", "elf uftrace ftrace fxt", "", ""),
        # What is text of JSON, and what derives ids from texts.
        ("ctf/ctf_small", "out.fxt", "ctf fxt", "", "json"),
        ("ctf/perf_ctf", "out.json", "ctf chrome json_values", "", "json"),
        ("uftrace/rich", "out.json", "elf uftrace ftrace chrome json_values", "", "json"),
        ("chrome/nesting.json", "out.fxt", "chrome json_values fxt", "", "json"),
        ("chrome/nesting.json", "out.pftrace", "chrome json_values perfetto", "", "json hashlib"),
        ("perfetto/kernel_typed.pftrace", "out.fxt", "perfetto fxt", "", "json hashlib"),
        ("uftrace/rich", "out.ctf", "elf uftrace ftrace ctf", "zstandard", "json hashlib"),
    ],
)
def test_a_conversion_loads_what_it_uses(source, target, rooms, packages, slow, tmp_path):
    modules = modules_of(RECORDINGS / source, "-o", tmp_path / target, "-q")
    assert foreign(modules) == {"click", "numpy", *packages.split()}
    assert modules & SLOW == set(slow.split())
    # Formats that are asked first show their descriptors, and no more.
    inside = {name for name in modules if name.startswith("converter.formats.")}
    inside -= DESCRIPTORS | TABLE
    shared = ("lossless", "plugins", "structures")
    inside = {name for name in inside if name.split(".")[2] not in shared}
    assert {name.split(".")[2] for name in inside} == set(rooms.split())
    unused = (
        "fixtures",
        "formats.lossless.residual",
        "jobs.comparing",
        "jobs.comparison",
        "jobs.round_trips",
        "storage.archives.tar",
    )
    assert not {
        name for name in modules if name.startswith(tuple(f"converter.{u}" for u in unused))
    }


#: Of a conversion from trace.dat to Perfetto: modules of ours, and calls of functions in them.
MOST_MODULES = 241
MOST_CALLS = 12_000


def test_a_small_conversion_imports_and_calls_little(tmp_path):
    arguments = [str(RECORDINGS / "trace_cmd/small.dat"), "-o", str(tmp_path / "out.pftrace"), "-q"]
    program = f"""
import sys, threading
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call" and frame.f_code.co_filename.startswith({str(ROOT / "converter")!r})
sys.setprofile(count)
threading.setprofile(count)
from converter.cli import main
main({arguments!r})
sys.setprofile(None)
print(calls, sum(name.partition(".")[0] == "converter" for name in sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, cwd=ROOT
    )
    calls, modules = map(int, result.stdout.split())
    assert modules <= MOST_MODULES
    assert calls <= MOST_CALLS


def test_a_part_loads_little_more(tmp_path):
    modules = modules_of(
        RECORDINGS / "trace_cmd/small.dat", tmp_path / "out.fxt", "-q", "--from", "+1ms"
    )
    assert modules & SLOW == set()
