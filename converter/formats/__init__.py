"""One package per format, each with modules of the same names: layout, capabilities, mapping, reading, writing."""
