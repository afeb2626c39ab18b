pytest_plugins = ["support.recorded", "support.stack", "support.watched"]
