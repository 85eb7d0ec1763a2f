"""Data streams: the files of a trace, and programs that decode their packets."""
