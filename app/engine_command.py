"""The command of our own engine."""

import sys

#: Starts an engine in a process of its own. The current folder is no place for modules.
ENGINE_COMMAND = (sys.executable, "-P", "-m", "warploom", "engine")
