"""The logic domains."""
