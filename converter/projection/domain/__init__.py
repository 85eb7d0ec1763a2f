"""Rules with knowledge of a domain: Linux scheduling, system calls, atrace, V8."""
