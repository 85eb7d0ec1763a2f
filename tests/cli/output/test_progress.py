"""What is shown on a terminal while a command works."""

import pytest

from converter.cli.output import progress as progress_module
from converter.cli.output.progress import Progress
from converter.fixtures.synthetic import synthetic_trace
from converter.merging.merge import merge


@pytest.fixture
def shown(monkeypatch):
    """What a terminal shows: (events so far) each time."""
    said = []

    class Display:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, done, total, events, seconds):
            said.append(events)

    monkeypatch.setattr(progress_module, "_display", Display)
    monkeypatch.setattr(progress_module, "_PATIENCE", -1)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    return said


def test_the_first_look_at_the_inputs_of_a_merge_is_shown_and_then_the_whole(shown):
    inputs = [synthetic_trace("text", 30, seed=number) for number in range(2)]
    with Progress(shown=True) as progress:
        for one in inputs:
            progress.look_through(one)
        whole = merge(inputs)
        assert shown
        assert max(shown) == 30
        del shown[:]
        progress.watch(whole)
        for _ in whole.batches():
            pass
        assert shown[-1] == progress.events == 60
        assert shown == sorted(shown)
