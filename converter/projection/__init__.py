"""A trace as a format can hold it: passes over its events, then each batch by its classes, with all losses counted."""
