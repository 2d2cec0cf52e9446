"""Playing episodes in worker processes."""
