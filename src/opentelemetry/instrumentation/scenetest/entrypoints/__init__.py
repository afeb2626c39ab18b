"""What others load by name: instrumentor, resource detector, pytest plugin, and what the .pth calls."""
