"""Where commands that nobody trusts run."""
