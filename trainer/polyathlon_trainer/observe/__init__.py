"""What a run leaves to read: records, tables, plots, one report."""
