"""The command line: start at `command_line.main`."""
