"""Profiles: formats of samples of call stacks, and the parts that their readers and writers share."""
