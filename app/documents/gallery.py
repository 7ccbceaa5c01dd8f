"""The example patches by theme, with titles and descriptions from their files and films of what they show."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.engine.patch.files import EXAMPLES_FOLDER, SUFFIX

#: The file of an example's film, which `tools/make_gallery_pictures.py` makes.
FILM = ".webp"
_THEMES = "gallery.toml"


@dataclass(frozen=True)
class Example:
    """An example patch; `film` shows what it makes, if there is a film. `types` are the ids of its block types."""

    path: Path
    title: str
    description: str
    theme: str
    film: Path | None
    types: frozenset[str] = frozenset()

    def has_words(self, text: str) -> bool:
        """True if each word of a text is in the title, the description, the theme, or a block type's id."""
        known = " ".join((self.title, self.description, self.theme, *self.types)).lower()
        known = f"{known} {known.replace('_', ' ')}"
        return all(word in known for word in text.lower().split())


def find_examples(folder: Path = EXAMPLES_FOLDER) -> list[Example]:
    """Return the examples in a folder in the order of its themes, then by file name.

    Files that are not patches are left out.
    """
    places = _places(folder)
    last = len(places), ""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: (places.get(path.stem, last)[0], path.name))
    found = [_read(path, places.get(path.stem, last)[1]) for path in paths]
    return [example for example in found if example is not None]


def example_with(type_id: str, folder: Path = EXAMPLES_FOLDER) -> tuple[Path, str] | None:
    """Return the smallest example that has a block of a type, with the block's id; None if there is none."""
    return examples_by_type(folder).get(type_id)


def examples_by_type(folder: Path = EXAMPLES_FOLDER) -> dict[str, tuple[Path, str]]:
    """Return for each block type the smallest example that has a block of it, with the block's id."""
    found: dict[str, list[tuple[int, Path, str]]] = {}
    for example in find_examples(folder):
        nodes = json.loads(example.path.read_bytes()).get("nodes", [])
        for node in nodes:
            found.setdefault(node.get("type"), []).append((len(nodes), example.path, node["id"]))
    return {type_id: min(places)[1:] for type_id, places in found.items()}


@cache
def neighbours(folder: Path = EXAMPLES_FOLDER) -> Mapping[tuple[str, bool], Counter[str]]:
    """Return how often examples connect the outputs (True) or inputs (False) of a type to those of other types.

    The first part of an id stands for all types that share it.
    """
    found: dict[tuple[str, bool], Counter[str]] = {}
    for example in find_examples(folder):
        document = json.loads(example.path.read_bytes())
        types = {node["id"]: node["type"] for node in document.get("nodes", [])}
        for line in document.get("connections", []):
            source, target = (types.get(line[end].partition(".")[0], "") for end in ("source", "target"))
            for one, other, is_source in ((source, target, True), (target, source, False)):
                for known in (one, one.partition(".")[0]):
                    found.setdefault((known, is_source), Counter())[other] += 1
    return found


def find_patch(path: Path) -> Path:
    """Return the file at `path` or, if there is none, the example of that name."""
    example = EXAMPLES_FOLDER / f"{path}{SUFFIX}"
    try:
        return example if path.name == str(path) and not path.exists() and example.is_file() else path
    except OSError:  # for example an overlong name; reading it reports the error
        return path


def _places(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the place of each example in the gallery, and its theme."""
    try:
        themes = tomllib.loads((folder / _THEMES).read_text(encoding="utf-8"))["theme"]
    except FileNotFoundError:
        return {}
    named = [(name, str(theme["title"])) for theme in themes for name in theme["examples"]]
    return {name: (place, title) for place, (name, title) in enumerate(named)}


def _read(path: Path, theme: str) -> Example | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        title = str(document.get("title") or path.stem.replace("_", " ").capitalize())
        description = str(document.get("description", ""))
        types = frozenset(str(node.get("type", "")) for node in document.get("nodes", []))
    except (OSError, ValueError, AttributeError, TypeError):
        return None
    film = path.with_suffix(FILM)
    return Example(path, title, description, theme, film if film.is_file() else None, types)
