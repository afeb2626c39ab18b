"""Stands in for the harness's `simpler` package: its modules, names, signatures and processes, no device."""
