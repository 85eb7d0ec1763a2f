"""What trace_processor is known to show otherwise than the projection says, by test, target and source."""

from __future__ import annotations

#: By test and target: why, and of which sources.
PENDING: dict[tuple[str, str], dict[str, frozenset[str]]] = {}


def reason_of(name: str) -> str | None:
    """Why a test is expected to fail, by its name with its parameters; None where it is not."""
    test, _, parameters = name.removesuffix("]").partition("[")
    source, _, target = parameters.partition("-to-")
    reasons = PENDING.get((test, target), {})
    return next((reason for reason, sources in reasons.items() if source in sources), None)
