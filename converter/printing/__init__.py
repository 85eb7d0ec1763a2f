"""Events as text: programs of operations, one per event class, which one kernel runs over the columns of a batch."""
