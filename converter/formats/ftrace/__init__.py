"""Linux ftrace: event formats, ring-buffer pages and print formats, as trace.dat and uftrace store them."""
