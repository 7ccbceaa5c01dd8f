"""Tables and progress on the terminal. Rich takes long to import, so only commands that need it import this file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from warploom.engine.diagnostics import Diagnostic, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


def make_console() -> Console:
    """Return a console for stdout that neither highlights text nor interprets brackets."""
    from rich.console import Console

    class Printable(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable(text), **options)

    return Printable(highlight=False, markup=False, emoji=False)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print each diagnostic on a line of stderr, with its file and line if known."""
    for item in diagnostics:
        place = f"{item.file}:{item.line}: " if item.file and item.line else ""
        click.echo(f"{printable(place)}{item}", err=True)


def heading(title: str, rest: str) -> Text:
    """Return a line that begins with a bold title."""
    from rich.text import Text

    return Text.assemble((printable(title), "bold"), printable(f"  {rest}"))


def make_table(*columns: str) -> Table:
    """Return a table without lines."""
    from rich.table import Table

    return Table(*columns, box=None, pad_edge=False, header_style="bold")


@contextmanager
def progress(title: str, total: int, *, show: bool) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr if that is a terminal; call the yielded function after each of `total` steps."""
    if not (show and sys.stderr is not None and sys.stderr.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
