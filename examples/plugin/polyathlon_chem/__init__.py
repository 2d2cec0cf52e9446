"""Chemistry domains for polyathlon."""
