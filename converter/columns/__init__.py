"""Events as columns by name: which fields share one, and their values as NumPy arrays."""
