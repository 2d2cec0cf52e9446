"""Which domain next, and at which level: pure decisions, all state in one value."""
