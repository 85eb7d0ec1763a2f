"""Splitting of one trace by several workers: each follows the trace, and writes its own parts.

A part begins with the state at its start, which depends on everything before it; so each worker reads what precedes its
parts, but only projects and encodes these. The files are those of one process, byte for byte.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from functools import partial

from converter import registry
from converter.errors import ExistingOutputError, TraceWarning, UnsupportedError
from converter.jobs.splitting import Outputs, SplitPart, split_trace
from converter.scheduling import Share, scheduler, seen_by_workers
from converter.selection.parts import TimeLength
from converter.storage.locations import is_remote, local
from converter.storage.outputs import open_sink
from converter.storage.writing.placing import (
    already_exists,
    output_error,
    place_files,
    place_folder,
    remove,
    temporary_beside,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Share):
    """Every `count`-th part of a trace, from part `number` on, in a folder of its own."""

    division: TimeLength
    lossless: bool = False

    @property
    def folder(self) -> str:
        """The folder of its parts until all of them are complete."""
        return os.path.dirname(self.path)


@dataclass(frozen=True, slots=True)
class WrittenParts:
    """Finished parts, and the damage of the trace, which each worker has seen."""

    parts: list[SplitPart]
    warnings: list[TraceWarning]


def split_by_workers(share: Parts, scheduler_name: str, *, force: bool = False) -> WrittenParts:
    """Split a trace on the workers of a scheduler. All parts appear at the end, or none.

    Args:
        share: the whole conversion: `path` is the pattern for the names of parts.
        scheduler_name: as `scheduler` accepts it.
        force: replace what exists.

    Raises:
        UnsupportedError: Dask is not installed, or the outputs are remote.
        OutputError: one of them exists, and not `force`.
        Exception: whatever `split` raises.

    """
    if is_remote(share.path):
        raise UnsupportedError("workers write parts on file systems that they share, not to URLs")
    target = os.path.abspath(local(share.path))
    folder = temporary_beside(target)
    try:
        os.mkdir(folder)
        with scheduler(scheduler_name) as workers:
            count = max(workers.workers, 1)
            shares = [
                replace(
                    share,
                    source=share.source
                    if is_remote(share.source)
                    else os.path.abspath(share.source),
                    path=os.path.join(folder, str(number), os.path.basename(target)),
                    number=number,
                    count=count,
                )
                for number in range(count)
            ]
            found = workers.results(written, shares)
        warnings = seen_by_workers(share.source, (one.warnings for one in found))
        parts = sorted(
            (part for one in found for part in one.parts),
            key=lambda part: os.path.basename(part.path),
        )
        return WrittenParts(_placed(parts, target, force), warnings)
    except OSError as error:
        raise output_error(error, share.path) from error
    finally:
        remove(folder)


def written(share: Parts) -> WrittenParts:
    """Write a share: on a worker, perhaps for the second time."""
    shutil.rmtree(share.folder, ignore_errors=True)
    os.makedirs(share.folder)
    format, variant = registry.target_format(share.path, share.target_format)
    outputs = Outputs(
        path=share.path,
        open=partial(
            open_sink,
            directory=format.is_directory(variant),
            seekable=format.patches_output or share.lossless,
        ),
        format=format,
        variant=variant,
        strict=share.strict,
        lossless=share.lossless,
    )
    with share.opened() as trace:
        parts = list(
            split_trace(
                trace,
                share.division,
                outputs,
                lambda number: number % share.count == share.number,
            )
        )
        return WrittenParts(parts, list(trace.warnings))


def _placed(parts: list[SplitPart], target: str, force: bool) -> list[SplitPart]:
    """Rename the parts and their companion files, and return the parts."""
    folder_of_target = os.path.dirname(target)
    folders = {os.path.dirname(part.path) for part in parts}
    paths = sorted(
        (entry.path for folder in folders for entry in os.scandir(folder)), key=os.path.basename
    )
    for path in paths:
        final = os.path.join(folder_of_target, os.path.basename(path))
        if not force and os.path.lexists(final):
            raise ExistingOutputError(already_exists(), path=final)
    for path in paths:
        final = os.path.join(folder_of_target, os.path.basename(path))
        if os.path.isdir(path):
            place_folder(path, final, force=force)
        else:
            place_files([(path, final)], force=force)
    return [
        replace(part, path=os.path.join(folder_of_target, os.path.basename(part.path)))
        for part in parts
    ]
