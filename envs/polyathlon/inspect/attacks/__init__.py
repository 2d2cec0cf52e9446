"""Attacks on verifiers that need no model: a library as data, impossible variants, probes, a fuzz, and guesses."""
