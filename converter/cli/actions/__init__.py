"""The work of the commands, one module for each kind of work."""
