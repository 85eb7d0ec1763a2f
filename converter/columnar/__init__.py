"""What files of Arrow tables have in common: rows of events that can be read back, and others' tables.

A row is an event, as `converter.arrow` lays it out for people, with the few numbers besides that its place in the
trace's tables takes. The tables themselves, and all that is no event, are in the metadata: a `.tcir` file that has no
events.
"""
