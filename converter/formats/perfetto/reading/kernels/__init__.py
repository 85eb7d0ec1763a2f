"""The compiled scanners of Perfetto's packets."""
