"""What reads finished runs: the stores, statistics and comparisons."""
