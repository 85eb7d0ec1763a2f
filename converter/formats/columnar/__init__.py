"""The common parts of files of Arrow tables: rows of events that can be read back, and foreign tables.

A row is an event, in the layout of `converter.analysis.arrow` for people, plus the few numbers that locate it in the
trace's tables. The tables themselves, and all that is not an event, are in the metadata: a `.tcir` file without
events.
"""
