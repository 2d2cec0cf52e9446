"""The games domains."""
