"""The harness's log ladder: TIMING stands between INFO and WARN and is the default threshold."""

from __future__ import annotations

import logging

TIMING = 25
NUL = 60

for level, name in ((TIMING, "TIMING"), (NUL, "NUL")):
    logging.addLevelName(level, name)
    setattr(logging, name, level)  # pytest's --log-level looks the word up on the module

_logger = logging.getLogger("simpler")
if _logger.level == logging.NOTSET:
    _logger.setLevel(TIMING)


def get_logger() -> logging.Logger:
    return _logger


def get_current_config() -> int:
    """The threshold that Worker.init hands to the native side."""
    return _logger.getEffectiveLevel()
