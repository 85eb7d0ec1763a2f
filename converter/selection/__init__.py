"""A part of a trace: which events are wanted, and what was so before the first of them."""
