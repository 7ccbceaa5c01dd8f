"""Six tasks from an empty canvas and the first hour of the book, recorded as gestures.

`scripts/` has a file of gestures for each task; `player.py` describes their lines. `pytest tests/tasks` plays them
offscreen, and `make tasks` on a virtual X display, with the mouse and keyboard of the X server.
"""
