"""The canonical representation that every reader produces and every writer consumes. It contains no format's name."""
