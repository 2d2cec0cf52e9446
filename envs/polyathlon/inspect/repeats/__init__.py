"""One key is one task, and one episode one verdict: everywhere, always, whatever went before. D01, D03, D04."""
