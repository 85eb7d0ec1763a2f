"""Scheduling: switches, wakeups, states and names of tasks, as Linux and others describe them."""
