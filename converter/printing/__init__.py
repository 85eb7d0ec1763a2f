"""Events as text: programs of operations, one an event class, which one kernel runs over the columns of a batch."""
