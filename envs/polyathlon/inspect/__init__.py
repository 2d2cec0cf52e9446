"""Inspection: what a domain claims is run, and what it should refuse is tried."""
