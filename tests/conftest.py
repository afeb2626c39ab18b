pytest_plugins = ["support.stack"]
