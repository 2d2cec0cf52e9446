"""Domains made of other libraries' tasks and verifiers, taken as they are and inspected on the way in."""
