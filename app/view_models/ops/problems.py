"""The problems of inner patches, each at its node, instead of a single one at the block that holds them."""

from collections.abc import Iterable

import msgspec

from engine.diagnostics import Diagnostic, PatchError, Severity
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch, inner_kind, open_inner


def with_op_problems(patch: Patch, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics of a patch with the errors of inner patches at their nodes, as "block/node"."""
    found: list[Diagnostic] = []
    for diagnostic in diagnostics:
        found += _inside(patch, diagnostic) or [diagnostic]
    return found


def _inside(patch: Patch, diagnostic: Diagnostic) -> list[Diagnostic]:
    """Return the errors in a block's inner patch that a diagnostic is about; empty if it is about something else."""
    node = diagnostic.node
    graph = _graph(patch, node) if node is not None and diagnostic.port is None else None
    errors = [item for item in graph.problems if item.severity is Severity.ERROR] if graph is not None else []
    if any(item.message not in diagnostic.message for item in errors):
        return []
    places = [f"{node}/{item.node}" if item.node else node for item in errors]
    return [msgspec.structs.replace(item, node=place) for item, place in zip(errors, places, strict=True)]


def place_title(patch: Patch, place: str) -> str:
    """Return the title in lists of a block, or of a node in its patch as "block/node", after the block's title."""
    node, _, op = place.partition("/")
    if node not in patch.nodes:
        return place
    graph = _graph(patch, node) if op else None
    if graph is None or op not in graph.nodes:
        return patch.title(node)
    return f"{patch.title(node)} › {graph.title(op)}"


def _graph(patch: Patch, node: str) -> InnerPatch | None:
    if inner_kind(patch, node) is None:
        return None
    try:
        return open_inner(patch, node)
    except PatchError:
        return None
