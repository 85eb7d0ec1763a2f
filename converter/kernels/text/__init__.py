"""Numbers as decimal text, and UTF-8."""
