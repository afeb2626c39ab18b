"""Renders runs and comparisons as text, JSON, Markdown, HTML, Perfetto traces and OTLP files."""
