"""`scenetest-otel`, and `python -m opentelemetry.instrumentation.scenetest`, which is the same."""

import signal


def main() -> None:
    """Import the command line and run it. An interrupt meanwhile ends this process without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from opentelemetry.instrumentation.scenetest import cli

    cli.main()


if __name__ == "__main__":
    main()
