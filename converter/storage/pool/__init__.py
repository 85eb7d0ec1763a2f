"""The thread pool of a conversion, and items prepared in it ahead of their use."""
