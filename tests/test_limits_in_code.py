"""Bounds that are written in the code: those of readers are in the table of limits, and all others are listed here."""

import re
from pathlib import Path

from converter.limits import LIMITS

ROOT = Path(__file__).parent.parent
#: Numbers that look like limits, and what they are.
NO_LIMITS = {
    "what the format itself, or the form that it has in memory, can hold": """
        aix/capabilities.MAX_BYTES aix/entries/encoding.MAX_DEPTH aix/entries/encoding.MAX_NODES
        aix/entries/encoding._MAX_DEFAULTS aix/entries/prescan._MAX_ENTRY
        aix/entries/streams._MAX_ENTRY_32 aix/layout.MAX_DATA
        aix/reading/report_classes._MAX_SYSCALLS aix/side_table._MAX_NUMBER
        aix/writing/writer._MAX_CLASSES columnar/arrow/__init__._LONGEST_SCHEMA
        json_values/value_text._MAX_NUMBER chrome/reading/reader._MAX_TICKS
        chrome/times.MAX_DECIMALS chrome/times.MAX_GUESSED_DECIMALS chrome/times._MAX
        chrome/writing/programs._MAX_LEVELS chrome/writing/writer._MAX_TICKS
        columnar/foreign._DEEPEST columnar/foreign._MAX_CPU columnar/own._MAX_CPU
        ctf/capabilities._MOST_PACKETS ctf/metadata/ctf2/json_values._LARGEST
        ctf/metadata/errors.MAX_ALIGNMENT ctf/metadata/errors.MAX_INTEGER_BITS
        ctf/metadata/errors.MAX_LENGTH ctf/reading/clocks._MOST_TICKS
        ctf/reading/packets.LARGEST_WINDOW ctf/reading/packets.MAX_CPU
        ctf/side_table._LARGEST ctf/streams/stream_types.MAX_ALIGNMENT
        ctf/streams/tasks._MAX_CPUS ftrace/capabilities.MAX_ARGUMENTS
        ftrace/capabilities.MAX_BUFFERS ftrace/capabilities.MAX_NUMBERS
        ftrace/capabilities.MAX_TEXT_BYTES ftrace/capabilities._LONGEST_DELTA
        ftrace/plugins/kvm_texts._MAX_INSTRUCTION ftrace/print_format/nodes._MAX_HEIGHT
        ftrace/print_format/scsi_commands._LONGEST ftrace/ring_buffer/page_writer._LARGEST_PAGE
        fxt/mapping.MAX_CPU fxt/reading/prescan._MAX_TIME fxt/reading/resync._MOST_WORDS
        fxt/record_types.MAX_ARGUMENTS fxt/record_types.MAX_PROFILER_LENGTH
        fxt/record_types.MAX_RECORD_BYTES fxt/record_types.MAX_STRING_BYTES
        fxt/writing/writer._MAX_PROVIDER_NAME ir/numbers.MAX_EQUAL ir/reading._MAX_CPU
        ir/values._DEEPEST lttng_legacy/capabilities.MAX_ARGUMENTS
        lttng_legacy/capabilities.MAX_TEXT_BYTES lttng_legacy/mapping.MOST_LOST
        lttng_legacy/marker_formats.MAX_FIELDS lttng_legacy/reading/state_dump._MOST_NUMBERS
        lttng_legacy/recording.MAX_CPU lttng_legacy/writing/native_recording._LARGEST_BLOCK
        perf/data/capabilities.MAX_FRAMES perf/data/writing/frame_addresses._MOST_FILES
        perf/data/writing/frame_addresses._MOST_SYMBOL_BYTES perf/data/writing/records._LONGEST
        columnar/parquet/writing._LONGEST_NAME perfetto/__init__._MAX_FIELD perfetto/annotations.MAX_PATH
        profiles/folded/embedding._LONGEST profiles/folded/reading._MOST_SHOWN profiles/sums._MOST
        profiles/cpuprofile/document._MAX_TIME profiles/cpuprofile/sampling._MAX_TIME
        profiles/pprof/embedding._MOST_BEFORE profiles/pprof/reading/labels._MOST_SHAPES
        profiles/pprof/writing/known_locations._MOST_SIZES
        perfetto/embedding._MOST_BEFORE perfetto/protobuf/descriptors._MAX_NUMBER
        perfetto/protobuf/event_schemas.MAX_DESCRIBED
        perfetto/protobuf/event_schemas._MAX_FIELDS perfetto/protobuf/event_schemas._MAX_LENGTH
        perfetto/protobuf/event_schemas._MAX_NUMBER perfetto/thread_states._MAX_CPU
        profiles/gecko/reading/counters._MOST profiles/gecko/reading/identities._MOST
        profiles/gecko/reading/reader._MAX_NESTING profiles/gecko/reading/tables._MAX_INDEX
        profiles/gecko/reading/tables._MAX_MILLISECONDS profiles/gecko/reading/tables._MAX_TIME
        profiles/gecko/reading/values._DEEPEST
        profiles/gecko/side_table._MOST_CPU
        storage/source._MAX_OFFSET trace_cmd/writing/native_contents._MOST_CPUS
        ftrace/lines/payload_remarks._LONGEST ftrace/lines/programs._MOST_FIXED
        ftrace/lines/syscall_texts._MOST_ARGUMENTS
        ftrace_text/reading/reader._LONGEST_CALL perf/script/capabilities.MOST_LOST
        perf/script/capabilities.MOST_WEIGHT perf/script/writing/lines._LONGEST_TASK
        uftrace/arguments/specifications._MOST_VALUES uftrace/capabilities._MAX_FIELD_NAME
        uftrace/layout.MOST_LOST uftrace/reading/reader._MOST_OFFSET
        uftrace/reading/seeking._MOST_TIME uftrace/side_table.MAX_SYMBOLS""",
    "what is read, kept or searched at a time; the rest is then": """
        aix/reading/batches._MOST_BESIDE aix/reading/report_text._MAX_LINE
        aix/reading/report_text._MAX_ROWS chrome/reading/resync.LARGEST
        chrome/reading/resync.LONGEST chrome/search._LONGEST
        chrome/writing/scheduling._MOST_IN_MEMORY chrome/writing/writer._MOST_AT_ONCE
        ctf/streams/program._LONGEST_SKIP ftrace/ring_buffer/pages._LARGEST_WINDOW
        ftrace/ring_buffer/pages._MOST_ODD ftrace_text/reading/reader._LONGEST_LINE ir/values._MOST_NESTED
        perf/script/reading/blocks._LONGEST
        lttng_legacy/reading/batches._LARGEST_WINDOW perfetto/reading/callstacks._MAX_CACHED
        perfetto/typed_arguments._MOST_KNOWN profiles/gecko/search._LONGEST
        profiles/spool._MOST_IN_MEMORY
        storage/archives/tar._LONGEST_NAME storage/compression/decompression._MOST_OUTPUT
        storage/compression/packed._MOST_IN_MEMORY storage/compression/packed._MOST_PASSES
        storage/descriptors._MOST storage/live._MOST storage/remote/cache._MOST_BLOCK
        storage/remote/cache._MOST_BLOCKS storage/remote/cache._MOST_KEPT
        storage/remote/objects.MOST_FETCHED storage/remote/sources._MOST_STREAMS
        storage/pool/workers._MOST_OF_A_PROCESSOR storage/pool/workers._MOST_WORKERS
        storage/source.MOST_AT_ONCE storage/window_memory._MOST_REUSED
        storage/writing/block_writes._MAX_OPEN uftrace/reading/batches._MOST_SEARCHED
        uftrace/reading/windows._LARGEST""",
    "what is done in a faster way, or shown in full; the rest in another": """
        aix/reading/report_text._MAX_PREAMBLE aix/report/template_programs._MOST_CALLS
        aix/report/template_programs._MOST_DEPTH aix/report/template_programs._MOST_ITEMS
        aix/trcfmt/columns._MAX_CALLS aix/trcfmt/columns._MAX_ITEMS aix/trcfmt/names._MOST
        aix/trcfmt/output.MAX_FIELDS ftrace/lines/event_texts._LONGEST_INFERRED
        ftrace/lines/event_texts._MOST_KEYS ftrace/lines/event_texts._MOST_VARIATIONS
        ftrace/lines/syscall_texts._MOST_ARGUMENTS
        ftrace/plugins/function_graph._MOST_NESTED
        ftrace/plugins/function_texts._MOST_NESTED ftrace/print_format/print_format._MAX_TEXT
        ftrace/print_format/printf._MAX_WIDTH ftrace/text_buffers._LONGEST_LINE
        lossless/travelling.MOST perfetto/reading/ftrace_classes._MAX_PARTIAL
        perfetto/reading/metadata.MAX_SIDECAR_BYTES perfetto/reading/packets._MAX_WARNINGS
        perfetto/reading/rules._MOST_NAMES profiles/gecko/reading/frames._LONGEST
        profiles/gecko/reading/reader._MOST_NAMED profiles/gecko/writing/schemas._MOST_SHOWN
        trace_cmd/container/gaps._LARGEST_PAGE
        trace_cmd/container/gaps._LARGEST_SECTION trace_cmd/container/gaps._MOST_MOVES
        uftrace/arguments/patterns._LONGEST_TEXT uftrace/arguments/printed_values._MOST_ESCAPED
        uftrace/report/texts._MOST_LEVELS elf/demangle._LONGEST""",
}


def test_readers_have_no_limits_of_their_own():
    name = re.compile(
        r"^(_?(?:MAX|MOST|LARGEST|LONGEST|DEEPEST|LIMIT)(?:_[A-Z0-9_]+)?)\s*(?::.*)?=", re.MULTILINE
    )
    found = {
        f"{path.relative_to(ROOT / 'converter').with_suffix('')}.{one}".removeprefix("formats/")
        for room in ("formats", "storage")
        for path in (ROOT / "converter" / room).rglob("*.py")
        for one in name.findall(path.read_text())
    }
    assert found == {one for each in NO_LIMITS.values() for one in each.split()}


def test_what_code_asks_for_is_in_the_table():
    asked = re.compile(r"\b(?:limit|limit_of|allowed)\(\s*[\"']([\w.-]+)[\"']\s*\)")
    found = {
        one
        for path in (ROOT / "converter").rglob("*.py")
        for one in asked.findall(path.read_text())
    }
    assert found - {"name"} == set(LIMITS)
