"""A console that foreign text can't control."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from opentelemetry.instrumentation.scenetest.render.plain import plain


class PlainConsole(Console):
    """A console that escapes all control characters except its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object, and escape the control characters in its text."""
        for segment in super().render(renderable, options):
            if segment.control is not None or segment.text.isprintable():
                yield segment
            else:
                lines = (plain(line) for line in segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)


def console(*, stderr: bool = False) -> PlainConsole:
    """Return a console as wide as the terminal. In a file or pipe, the length of lines is not limited."""
    stream: TextIO | None = sys.stderr if stderr else sys.stdout  # None if the caller has closed it
    width = None if stream is not None and stream.isatty() else _UNLIMITED
    return PlainConsole(stderr=stderr, soft_wrap=True, highlight=False, markup=False, width=width)


_UNLIMITED = 10_000
