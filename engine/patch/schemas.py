"""Versions of the `.loom` file, and how a document of an older version becomes one of the newest.

=======  ======================================================================================================
version  new in it
=======  ======================================================================================================
1        nodes, connections, sentinels; frames, dots, colours, comments, presets, pins ..., which change no result
2        bypassed and disabled nodes, and groups: a Warploom that does not know them would run another patch
3        keys of parameters, and the timeline, for the same reason
4        arrays in files beside the patch
5        orders of blocks without a connection, for the same reason
=======  ======================================================================================================

A file says the oldest version that holds its patch, so an older Warploom opens it as long as it can run it. To add a
version: a row above, its condition in `schema_for`, a step in `_UPGRADES`, and a file in `tests/patch/formats`.
"""

from collections.abc import Callable, Collection
from typing import Any

#: The newest version.
NEWEST = 5
_GROUPS = "patch."

Document = dict[str, Any]


def schema_for(nodes: Collection[Document], *, has_timeline: bool = False, has_orders: bool = False) -> int:
    """Return the oldest version that holds these nodes, and perhaps a timeline or orders."""
    if has_orders:
        return 5
    if any(isinstance(v, dict) and "npy" in v for node in nodes for v in node["parameters"].values()):
        return 4
    if has_timeline or any("curves" in node for node in nodes):
        return 3
    return 2 if any("mode" in node or node["type"].startswith(_GROUPS) for node in nodes) else 1


def upgraded(document: Document, schema: int) -> Document:
    """Return a document of version `schema` as one of the newest version."""
    for version in range(schema, NEWEST):
        document = _UPGRADES[version](document)
    return document


def _with_more_fields(document: Document) -> Document:
    """Versions 2 to 5 only add fields."""
    return document


#: The step from each version to the next one.
_UPGRADES: dict[int, Callable[[Document], Document]] = dict.fromkeys((1, 2, 3, 4), _with_more_fields)
