"""The math domains."""
