"""perf of Linux: its recordings, and the text that `perf script` prints of them."""
