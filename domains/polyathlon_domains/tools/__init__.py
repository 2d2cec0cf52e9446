"""The tools domains."""
