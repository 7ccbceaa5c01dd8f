"""A graph in the language of Graphviz: for devices whose driver has no such thing."""

from __future__ import annotations

from collections.abc import Iterator

from engine.device.nodes import ChildWork, ConditionalWork, CopyWork, KernelWork, MemsetWork, NoWork, Work, kind_of
from engine.device.tree import GraphTree


def dot(tree: GraphTree, graph: int) -> str:
    """Return a graph of the tree with what is in it; child graphs and bodies are clusters, joined to their node."""
    head = ["digraph graph_of_nodes {", "  compound=true;", "  node [shape=box];"]
    return "\n".join([*head, *_inside(tree, graph, "  "), "}", ""])


def _inside(tree: GraphTree, graph: int, indent: str) -> Iterator[str]:
    for node, record in enumerate(tree.nodes):
        if record.graph != graph or isinstance(record.work, NoWork):
            continue
        yield f'{indent}n{node} [label="{_escaped(f"{node}: {_label(record.work)}")}"];'
        for before in record.after:
            yield f"{indent}n{before} -> n{node};"
        for title, inner in _graphs(record.work):
            yield f"{indent}subgraph cluster_{inner} {{"
            yield f'{indent}  label="{title} of {node}";'
            yield from _inside(tree, inner, indent + "  ")
            yield f"{indent}}}"
            first = next((index for index, other in enumerate(tree.nodes) if other.graph == inner), None)
            if first is not None:
                yield f"{indent}n{node} -> n{first} [style=dashed, lhead=cluster_{inner}];"


def _label(work: Work) -> str:
    match work:
        case KernelWork(kernel=kernel, config=config):
            return f"{kernel.name}\n{config.grid} x {config.thread_block}"
        case MemsetWork(value=value, size_bytes=size):
            return f"memset\n{size} bytes to {value}"
        case CopyWork(size_bytes=size):
            return f"{kind_of(work).removeprefix('a ')}\n{size} bytes"
        case ConditionalWork(kind=kind):
            return kind.value
        case _:
            return kind_of(work).split(" ", 1)[1]


def _graphs(work: Work) -> list[tuple[str, int]]:
    """Return the graphs that a node has, each with what it is."""
    if isinstance(work, ChildWork):
        return [("child graph", work.graph)]
    if isinstance(work, ConditionalWork):
        titles = ("body", "else body")
        return [(f"{work.kind.value} {title}", body) for title, body in zip(titles, work.bodies, strict=False)]
    return []


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
