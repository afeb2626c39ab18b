"""Runs one command and follows its output, or alternates two arms."""
