"""Engines in child processes, for tests."""

import os
import subprocess
import sys

COMMAND = [sys.executable, "-m", "app", "engine"]


def the_child() -> int:
    """Return the process id of the only child that is an engine; CalledProcessError if there is none."""
    done = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "app engine"], capture_output=True, check=True)
    return int(done.stdout)
