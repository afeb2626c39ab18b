"""The native timing markers of the harness: read from logs, and put under what was recorded."""
