"""Texts of events as the plugins of libtraceevent print them."""
