"""Several traces as one: clocks related, tasks unified, batches merged by time."""
