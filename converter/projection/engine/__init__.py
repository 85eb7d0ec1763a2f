"""Projects one batch: partitions it by class, lowers and fits the partitions, and assembles them again."""
