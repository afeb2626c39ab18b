"""The conditions of a measurement: what each one is called, means and why it matters, and how it is observed."""
