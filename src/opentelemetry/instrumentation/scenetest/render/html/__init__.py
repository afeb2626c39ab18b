"""Renders a comparison as one HTML page that needs no network."""
