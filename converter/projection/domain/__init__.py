"""Rules that know a domain: Linux scheduling, system calls, atrace, V8."""
