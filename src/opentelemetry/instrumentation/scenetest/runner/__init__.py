"""Runs one command and follows it, or two arms that take turns."""
