"""An engine in a child process, for tests."""

import os
import subprocess
import sys

COMMAND = [sys.executable, "-m", "app", "engine"]


def the_child() -> int:
    """Return the process id of this process's only child that is an engine; CalledProcessError when there is none."""
    done = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "app engine"], capture_output=True, check=True)
    return int(done.stdout)
