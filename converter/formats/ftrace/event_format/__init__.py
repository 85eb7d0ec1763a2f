"""Event formats as tracefs states them, and the event classes and columns made of them."""
