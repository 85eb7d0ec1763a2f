"""The canonical representation that every reader makes and every writer takes. No format's name appears in it."""
