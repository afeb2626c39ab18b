"""A terminal that texts of others can't drive."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from opentelemetry.instrumentation.scenetest.render.plain import plain


class PlainConsole(Console):
    """A console that prints no control character which is not the console's own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render something, with the control characters of its texts escaped."""
        for segment in super().render(renderable, options):
            if segment.control is not None or segment.text.isprintable():
                yield segment
            else:
                lines = (plain(line) for line in segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)


def console(*, stderr: bool = False) -> PlainConsole:
    """Return a console as wide as the reader's terminal; elsewhere, as in a file, lines have any length."""
    stream: TextIO | None = sys.stderr if stderr else sys.stdout  # None where the caller has closed it
    width = None if stream is not None and stream.isatty() else _UNLIMITED
    return PlainConsole(stderr=stderr, soft_wrap=True, highlight=False, markup=False, width=width)


_UNLIMITED = 10_000
