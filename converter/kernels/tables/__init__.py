"""Hash tables and other growing tables: interned strings, tasks, keys, open slices."""
