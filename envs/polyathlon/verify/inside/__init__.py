"""Scripts that run inside a sandbox, sent there as text: standard library only, and never an expected value."""
