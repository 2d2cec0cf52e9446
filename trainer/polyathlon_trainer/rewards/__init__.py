"""From rewards to advantages that can be compared across domains."""
