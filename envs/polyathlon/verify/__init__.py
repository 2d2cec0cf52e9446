"""Judging helpers: pure, and safe against whatever a policy writes."""
