"""Mutants: right answers and solutions made wrong by one operator each. A verifier must refuse them."""
