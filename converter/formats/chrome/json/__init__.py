"""JSON text, scanned into columns."""
