"""The compiled loops of the reader."""
