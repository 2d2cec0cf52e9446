"""How many tasks there are, how alike they are, and how their answers are spread: U01 to U05."""
