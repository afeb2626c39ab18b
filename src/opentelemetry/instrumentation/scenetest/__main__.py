"""`python -m opentelemetry.instrumentation.scenetest`: the same as `scenetest-otel`."""

from opentelemetry.instrumentation.scenetest.cli import main

if __name__ == "__main__":
    main()
