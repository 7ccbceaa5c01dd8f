"""Only `engine/platforms` knows what systems do differently; ruff's `banned-api` holds modules and calls to that."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Places that not every system has, in a string.
_PLACES = re.compile(r"""["'](/(?:proc|sys|dev/shm|dev/video|etc|tmp|var|usr)\b[^"']*)""")
#: Text that is written as Windows would: with its line breaks.
_TRANSLATED = re.compile(r"""\.write_text\((?![^\n]*newline=)|\.open\("[awx]t?"(?![^\n]*newline=)""")


def _found(pattern: re.Pattern[str]) -> list[str]:
    rooms = ("app", "blocks", "engine", "warploom")
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py") if "platforms" not in path.parts]
    texts = [(path.relative_to(ROOT), path.read_text("utf-8")) for path in files]
    return [f"{path}: {found[0]}" for path, text in texts for found in pattern.finditer(text)]


def test_no_other_room_names_a_place_of_one_system() -> None:
    """No string elsewhere is a path that only Linux or macOS has."""
    assert _found(_PLACES) == ['engine/kernel_sources/sass.py: "/usr/local/cuda/bin']  # where Linux has the toolkit


def test_line_breaks_are_the_same_on_every_system() -> None:
    """Text files are written with the line breaks that their text has."""
    assert _found(_TRANSLATED) == []
