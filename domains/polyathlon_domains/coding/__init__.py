"""The coding domains."""
