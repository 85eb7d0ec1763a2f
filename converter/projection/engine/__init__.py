"""Projects one batch: partitions by class, lowered, fitted and assembled again."""
