"""One folder per format, each with the same files: layout, mapping, reader, writer."""
