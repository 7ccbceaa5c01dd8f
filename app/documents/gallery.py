"""The example patches, with titles and descriptions from their files."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.catalogue.catalogue import default_catalogue
from engine.patch.files import EXAMPLES_FOLDER, SUFFIX


@dataclass(frozen=True)
class Example:
    """An example patch: positions and categories of its nodes by id, and its connections as pairs of ids."""

    path: Path
    title: str
    description: str
    boxes: dict[str, tuple[float, float]]
    categories: dict[str, str]
    lines: tuple[tuple[str, str], ...]


def find_examples(folder: Path = EXAMPLES_FOLDER) -> list[Example]:
    """Return the examples in a folder by file name; files that are not patches are left out."""
    found = [_read(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    return [example for example in found if example is not None]


def find_patch(path: Path) -> Path:
    """Return the file at `path` or, if there is none, the example of that name."""
    example = EXAMPLES_FOLDER / f"{path}{SUFFIX}"
    try:
        return example if path.name == str(path) and not path.exists() and example.is_file() else path
    except OSError:  # for example an overlong name; reading it reports the error
        return path


def _read(path: Path) -> Example | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        nodes: list[dict[str, Any]] = document.get("nodes", [])
        x_y = {node["id"]: tuple(node.get("position", (0, 0))) for node in nodes}
        categories = {node["id"]: _category(node.get("type", "")) for node in nodes}
        lines = tuple(
            (item["source"].partition(".")[0], item["target"].partition(".")[0])
            for item in document.get("connections", [])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    title = str(document.get("title") or path.stem.replace("_", " ").capitalize())
    return Example(path, title, str(document.get("description", "")), x_y, categories, lines)


def _category(type_id: str) -> str:
    block_type = default_catalogue().get(type_id)
    return block_type.category if block_type is not None else ""
