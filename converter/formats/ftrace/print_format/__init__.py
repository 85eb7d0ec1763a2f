"""Print formats of events, evaluated as libtraceevent does."""
