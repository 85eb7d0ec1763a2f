"""What failing tests say reaches whoever runs them."""

import pytest

#: Texts of traces: bytes that are no UTF-8, and halves of characters of JSON.
TEXTS = ["\udcff", "\ud800\udcff", "a\udc80b"]


@pytest.mark.parametrize("text", range(len(TEXTS)))
def test_lone_surrogates_in_a_report_do_not_end_the_run(text, request):
    """Workers of pytest-xdist encode reports as UTF-8."""
    execnet = pytest.importorskip("execnet")
    said = TEXTS[text]
    report = pytest.TestReport(
        nodeid=f"test_it[{said}]",
        location=("test_it.py", 1, f"test_it[{said}]"),
        keywords={said: 1},
        outcome="failed",
        longrepr=f"assert {said} == 'b'",
        when="call",
        sections=[("Captured stdout call", said)],
        user_properties=[(said, said)],
    )
    hook = request.config.hook
    sent = hook.pytest_report_to_serializable(config=request.config, report=report)
    received = execnet.loads(execnet.dumps(sent))
    shown = said.encode("utf-8", "backslashreplace").decode()
    again = hook.pytest_report_from_serializable(config=request.config, data=received)
    assert again.longrepr == f"assert {shown} == 'b'"
    assert again.capstdout == shown
