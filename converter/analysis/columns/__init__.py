"""Events as columns by name: assigns fields to columns, and returns their values as NumPy arrays."""
