"""run.yaml to frozen values."""
