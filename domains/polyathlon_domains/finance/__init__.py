"""The finance domains."""
