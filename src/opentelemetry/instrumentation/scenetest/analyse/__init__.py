"""The analysis of finished runs: contamination, statistics, comparison. It knows no network, options or formats."""
