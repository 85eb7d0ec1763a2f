"""Traces shown in a browser: served to a viewer that runs there, or as a self-contained page."""
