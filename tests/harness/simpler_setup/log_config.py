"""How every entry point of the harness sets its log level."""

from __future__ import annotations

import logging

from simpler import _log

LOG_LEVEL_CHOICES = ("debug", "info", "timing", "warn", "error", "null")
DEFAULT_LOG_LEVEL = "timing"


def configure_logging(level: str) -> None:
    logging.basicConfig(format="[%(levelname)s] %(name)s: %(message)s")
    number = {"timing": _log.TIMING, "warn": logging.WARNING, "null": _log.NUL}.get(level)
    _log.get_logger().setLevel(number if number is not None else level.upper())
