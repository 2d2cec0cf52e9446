"""What a policy is shown must not tell what it shall find out: L01 to L04."""
