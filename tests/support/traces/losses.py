"""Losses as short lines, which do not change with their sentences."""

from converter.projection.losses import Loss


def line_of(loss: Loss) -> str:
    """The code, the parameters and the count of a loss."""
    parameters = "".join(f" {name}={value}" for name, value in loss.parameters)
    return f"{loss.code}{parameters} ({loss.count})"


def codes_of(losses) -> list[str]:
    """The codes of losses, each once, in their order."""
    return list(dict.fromkeys(loss.code for loss in losses))
