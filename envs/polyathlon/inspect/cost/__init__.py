"""What a domain costs: time, memory, things left behind, and noise in its rewards. R01 to R03."""
