"""Entry points that other tools load by name: instrumentor, resource detector, pytest plugin, hook of the .pth."""
