"""Versions of the `.loom` file, and how a document of an older version becomes one of the newest.

| version | new in it |
|---|---|
| 1 | nodes, connections, sentinels; frames, dots, bookmarks, presets, pins and OSC, which change no result |
| 2 | bypassed and disabled nodes, and groups: a Warploom that does not know them would run another patch |

A file says the oldest version that holds its patch, so an older Warploom opens it as long as it can run it. To add a
version: a row above, its condition in `schema_for`, a step in `_UPGRADES`, and a file in `tests/patch/formats`.
"""

from collections.abc import Callable, Iterable
from typing import Any

#: The newest version.
NEWEST = 2
_GROUPS = "patch."

Document = dict[str, Any]


def schema_for(nodes: Iterable[Document]) -> int:
    """Return the oldest version that holds these nodes."""
    return 2 if any("mode" in node or node["type"].startswith(_GROUPS) for node in nodes) else 1


def upgraded(document: Document, schema: int) -> Document:
    """Return a document of version `schema` as one of the newest version."""
    for version in range(schema, NEWEST):
        document = _UPGRADES[version](document)
    return document


def _from_1(document: Document) -> Document:
    """Version 2 only adds fields."""
    return document


#: The step from each version to the next one.
_UPGRADES: dict[int, Callable[[Document], Document]] = {1: _from_1}
