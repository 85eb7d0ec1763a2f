#: The meanings of characters of the flags.
FLAG_IRQS: int
FLAG_RESCHED: int
FLAG_LAZY: int
FLAG_CONTEXT: int
FLAG_DEPTH: int
FLAG_LAZY_DEPTH: int
FLAG_MIGRATE: int
