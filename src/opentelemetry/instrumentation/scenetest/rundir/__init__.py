"""A run directory: the only place that knows which files are in it, and what is in them."""
