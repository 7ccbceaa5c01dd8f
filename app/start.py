"""Where the program begins: Ctrl+C ends it without a word while the command line is imported."""

import os
import signal

from app.exit_status import INTERRUPTED


def main() -> None:
    """Run the command line."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # otherwise the parent process ignores it
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from app.cli import main as run

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
