"""Lines of ftrace text, scanned into columns."""
