"""A plan in the language of Graphviz: operations as boxes, bodies of regions as clusters."""

from collections.abc import Iterator

from engine.compiler.inspection.labels import title, what
from engine.compiler.operations import RegionEntry
from engine.compiler.plan import Plan


def plan_dot(plan: Plan) -> str:
    """Return the operations and what each waits for; a dashed line leads from a region to its bodies."""
    lines = ["digraph plan {", "  compound=true;", "  node [shape=box];", *_scope(plan, 0, "  "), "}"]
    return "\n".join(lines) + "\n"


def _scope(plan: Plan, scope: int, indent: str) -> Iterator[str]:
    for index in plan.scopes[scope].members:
        operation = plan.operations[index]
        label = _escaped(f"{index} {title(plan, index)}") + "\\n" + _escaped(what(plan, index))
        yield f'{indent}o{index} [label="{label}"];'
        for earlier in operation.after:
            yield f"{indent}o{earlier} -> o{index};"
        if isinstance(operation.entry, RegionEntry):
            for body in operation.entry.scopes:
                yield f"{indent}subgraph cluster_{body} {{"
                yield f'{indent}  label="{_escaped(plan.scopes[body].name)}";'
                yield from _scope(plan, body, indent + "  ")
                yield f"{indent}}}"
                if plan.scopes[body].members:
                    first = plan.scopes[body].members[0]
                    yield f"{indent}o{index} -> o{first} [style=dashed, lhead=cluster_{body}];"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
