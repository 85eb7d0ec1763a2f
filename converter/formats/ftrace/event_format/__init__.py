"""Event formats as tracefs declares them, and the event classes and columns derived from them."""
