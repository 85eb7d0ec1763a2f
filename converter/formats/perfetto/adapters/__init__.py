"""Conversions between events of other formats and those that Perfetto declares."""
