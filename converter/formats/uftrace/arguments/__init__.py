"""Arguments and return values: specifications, types and printed values."""
