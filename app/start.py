"""The entry point of the program. Ctrl+C ends it silently while the command line is imported."""

import os
import signal

from warploom.app.exit_status import INTERRUPTED


def main() -> None:
    """Run the command line."""
    # Otherwise the parent process ignores Ctrl+C.
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from warploom.app.cli.command_line import main as run

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
