"""Which thread runs on which CPU, and the states of threads."""
