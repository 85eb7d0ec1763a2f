"""Round trips: the changes of a trace that is converted to other formats and back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from converter import registry
from converter.jobs.comparing.differences import TraceDifference
from converter.jobs.comparison import diff
from converter.jobs.conversion import write
from converter.jobs.reading import open_trace
from converter.projection.losses import LossReport


@dataclass(slots=True)
class RoundTrip:
    """A round trip: the formats, the losses of each step, and how the result differs from the source."""

    formats: list[str] = field(default_factory=list)
    reports: list[LossReport] = field(default_factory=list)
    difference: TraceDifference = field(default_factory=TraceDifference)


def roundtrip(
    source: str | os.PathLike[str],
    via: Sequence[str],
    *,
    source_format: str | None = None,
    options: Mapping[str, str] | None = None,
    lossless: bool = False,
    ignore: Collection[str] = (),
) -> RoundTrip:
    """Convert an input to one format after the other and back to its own, and compare.

    The files between are temporary (in TMPDIR). An input whose own format cannot be written is compared with the file
    in the last of the formats.

    Args:
        source: a path.
        via: names of formats, "name+variant" for a variant.
        source_format: of the input, if it is not recognised.
        options: options of the input's reader.
        lossless: embed in each file what does not fit.
        ignore: aspects not to compare, as `diff` accepts them.

    Raises:
        UnknownFormatError: there is no such format.
        TraceError: as `open_trace` and `write` do.

    """
    for name in via:
        registry.format_named(name)
    result = RoundTrip()
    with tempfile.TemporaryDirectory(prefix="traceconv-") as folder:
        current: str | os.PathLike[str] = source
        reader_options: dict[str, str] | None = dict(options or {})
        named = source_format
        with open_trace(source, source_format, options) as trace:
            own = registry.format_named((trace.document or trace).format)[0]
            result.formats = [own.name, *via]
        if own.writable:
            result.formats.append(own.name)
        for number, name in enumerate(result.formats[1:]):
            target = os.path.join(folder, str(number))
            with open_trace(current, named, reader_options) as trace:
                result.reports.append(write(trace, target, name, lossless=lossless))
            current, reader_options = target, None
            format, variant = registry.format_named(name)
            # Not all formats are recognised: a 32-bit AIX stream has no magic.
            named = name if variant and "variant" in format.options else None
        with (
            open_trace(source, source_format, options) as before,
            open_trace(current, named) as after,
        ):
            result.difference = diff(before, after, ignore)
    return result
