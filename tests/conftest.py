pytest_plugins = ["support.recorded", "support.stack", "support.tls", "support.watched"]
