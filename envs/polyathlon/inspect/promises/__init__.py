"""What a domain promises, tried: its parts, verdicts, reference and prompt. C01, C02, C04, S02, S03, S05."""
