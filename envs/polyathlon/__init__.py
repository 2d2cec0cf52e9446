"""polyathlon: a registry of RL domains for post-training language models."""
