pytest_plugins = ["support.stack", "support.watched"]
