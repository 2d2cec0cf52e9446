"""The cad domains."""
