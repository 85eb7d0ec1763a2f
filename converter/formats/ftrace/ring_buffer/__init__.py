"""Pages of the kernel's ring buffer, read and written."""
