"""The files that a parameter's path names: where they lie, and which belong to a folder or a pattern."""

import re
from collections.abc import Iterator
from pathlib import Path

from warploom.engine.arguments import checked
from warploom.engine.platforms.paths import parts_of, path_of
from warploom.engine.readings import here, stamp_of

#: The media that Warploom brings. A path such as media/hill.laz names one of them in every patch.
MEDIA_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "media"
_WILDCARDS = frozenset("#*?")


def found_file(folder: Path, value: str) -> Path:
    """Return where the file of a path lies; a relative path starts at `folder`, which is the patch's.

    A file that is missing is looked for beside the patch, by as much of the end of its path as possible:
    `/home/ada/shots/sky.png`, or the same with backslashes and a drive, as `shots/sky.png`, then as `sky.png`. A path
    that ends in `media/NAME` may be of a file that Warploom brings. If there is none of these, return the path itself.
    """
    named = here(folder / path_of(value))
    if is_there(named):
        return named
    return next((path for path in _instead(folder, value) if is_there(path)), named)


def _instead(folder: Path, value: str) -> Iterator[Path]:
    parts = parts_of(value)
    for start in range(len(parts)):
        yield here(folder.joinpath(*parts[start:]))
    if len(parts) > 1 and parts[-2] == MEDIA_FOLDER.name:
        yield MEDIA_FOLDER / parts[-1]


@checked()
def files_at(path: Path) -> list[Path]:
    """Return the file at a path, the files in a folder, or those that fit a pattern, by name; hidden ones excepted.

    In the name of a pattern, each # stands for a digit, * for any text and ? for any character.
    """
    if stamp_of(path) is not None:
        if not path.is_dir():
            return [path] if path.is_file() else []
        fits = re.compile("(?!\\.).*")
    elif _WILDCARDS & set(path.name):
        pattern = re.sub("#+", lambda run: f"[0-9]{{{len(run[0])},}}", re.escape(path.name).replace(r"\#", "#"))
        fits = re.compile(pattern.replace(r"\*", "(?!\\.).*").replace(r"\?", "."))
        path = path.parent
    else:
        return []
    listed = path.iterdir() if stamp_of(path) is not None and path.is_dir() else ()
    return sorted(file for file in listed if fits.fullmatch(file.name) and file.is_file())


def is_there(path: Path) -> bool:
    """True for a file or a folder, and for a pattern that a file fits."""
    return stamp_of(path) is not None or bool(files_at(path))
