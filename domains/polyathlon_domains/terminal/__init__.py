"""The terminal domains."""
