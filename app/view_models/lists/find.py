"""Finds blocks and frames of a patch by their names, types and values."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from warploom.app.edits.nodes import parameter_label
from warploom.engine.diagnostics import cut
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import GRAPH, inner_kind
from warploom.engine.patch.organise.annotations import Frame

_LONGEST_VALUE, _LONGEST_WHY = 80, 160


@dataclass(frozen=True)
class Found:
    """A block or a frame that holds the words; `why` is where it holds them, and lower ranks come first."""

    id: str
    title: str
    why: str
    rank: int
    is_frame: bool = False


def find(patch: Patch, text: str) -> list[Found]:
    """Return what holds every word of a text, best first: titles, types and ids, then comments, colours and values.

    Blocks in groups are among them, and parts of patches inside blocks, with the id "block/part". Those that would look
    alike say what tells them apart, and come in the order in which a person reads the canvas.
    """
    words = text.lower().split()
    if not words:
        return []
    found = [hit for node in patch.nodes if (hit := _of_node(patch, node, words)) is not None]
    found += [hit for node in patch.nodes for hit in _inside(patch, node, words)]
    found += [hit for frame in patch.annotations_of(Frame) if (hit := _of_frame(frame, words)) is not None]
    alike = Counter((hit.title, hit.why) for hit in found)
    found = [_told_apart(patch, hit) if alike[hit.title, hit.why] > 1 else hit for hit in found]
    return sorted(found, key=lambda hit: (hit.rank, hit.title.lower(), *_place(patch, hit), hit.id))


def _place(patch: Patch, hit: Found) -> tuple[float, float]:
    """Return the row and the column of a block on the canvas; 0 for other things."""
    x, y = patch.nodes[hit.id].position if hit.id in patch.nodes else (0.0, 0.0)
    return y, x


def _told_apart(patch: Patch, hit: Found) -> Found:
    """Return a block with what feeds it, its comment, values and group, and its id as the reason."""
    if hit.id not in patch.nodes:
        return hit
    node = patch.nodes[hit.id]
    fed = dict.fromkeys(patch.title(c.source.node) for c in patch.connections_of(hit.id) if c.target.node == hit.id)
    facts = [f"after {' and '.join(fed)}"] if fed else []
    facts += [node.comment] if node.comment else []
    facts += [f"{parameter_label(n)} {v}" for n, v in node.parameters.items() if isinstance(v, (bool, int, float, str))]
    group = patch.group_of(hit.id)
    facts += [f"in {patch.title(group)}"] if group else []
    text = " ".join(", ".join(facts).split())  # values may have many lines
    return replace(hit, why=", ".join(filter(None, [cut(text, _LONGEST_WHY), hit.id])))


def _of_node(patch: Patch, node: str, words: list[str]) -> Found | None:
    if patch.is_end(node):
        return None
    title, held = patch.title(node), patch.nodes[node]
    group = patch.group_of(node)
    place = f" in {patch.title(group)}" if group else ""
    names = [(title, held.type + place), (f"{node} {held.type}", f"{held.type}, {node}{place}")]
    noted = [
        (f"{held.comment} {held.colour}", f"{' '.join(held.comment.split())[:_LONGEST_VALUE] or held.colour}{place}")
    ]
    for rank, (where, why) in enumerate([*names, *noted, *_values(patch, node, place)]):
        if all(word in where.lower() or word in title.lower() for word in words):
            return Found(node, title, why, min(rank, 2))
    return None


def _inside(patch: Patch, node: str, words: list[str]) -> Iterator[Found]:
    """Yield the parts of the patch inside a block, from its JSON, since opening each patch would take long."""
    kind = inner_kind(patch, node)
    if kind is None:
        return
    graph, catalogue = patch.value(node, GRAPH), kind().catalogue
    parts = graph.get("nodes") if isinstance(graph, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        block_type = catalogue.get(str(part.get("type", "")))
        title = str(part.get("title") or (block_type.title if block_type is not None else part.get("type", "")))
        values = part.get("parameters")
        pairs = values.items() if isinstance(values, dict) else ()
        shown = " ".join(f"{name} {str(value)[:_LONGEST_VALUE]}" for name, value in pairs)
        place = f"in {patch.title(node)}"
        for rank, where in enumerate((title, f"{part.get('id')} {part.get('type')}", shown)):
            if all(word in f"{title} {where}".lower() for word in words):
                yield Found(f"{node}/{part.get('id')}", title, f"{shown}   {place}" if rank == 2 else place, rank)
                break


def _values(patch: Patch, node: str, place: str) -> Iterator[tuple[str, str]]:
    for name, value in patch.nodes[node].parameters.items():
        shown = str(value)[:_LONGEST_VALUE] if isinstance(value, (str, int, float)) else ""
        label = parameter_label(name)
        yield f"{name} {label} {shown}", f"{label}: {shown}{place}" if shown else f"{label}{place}"


def _of_frame(frame: Frame, words: list[str]) -> Found | None:
    title = frame.title or "Frame"
    for rank, text in ((0, title), (2, f"{title} {frame.comment} {frame.colour}")):
        if all(word in text.lower() for word in words):
            return Found(frame.id, title, "Frame", rank, is_frame=True)
    return None
