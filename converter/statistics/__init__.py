"""Figures about a trace: who ran how long, which slices took it, what happened how often."""
