"""Releases several objects of a device, of which any may fail."""

from collections.abc import Callable
from contextlib import ExitStack


def release_all(*releases: Callable[[], object]) -> None:
    """Call all functions in order, even if some raise; then raise the last exception."""
    with ExitStack() as stack:  # calls the last one first
        for release in reversed(releases):
            stack.callback(release)
