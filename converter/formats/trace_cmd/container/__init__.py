"""The container of versions 6 and 7: sections, options, buffers."""
