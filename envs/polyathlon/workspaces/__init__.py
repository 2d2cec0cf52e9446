"""Reusable worlds, a module a kind."""
