"""Writes a plan in the language of Graphviz: operations as boxes, bodies of regions as clusters."""

from collections.abc import Iterator

from warploom.engine.compiler.inspection.labels import title, what
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.drawings import dot


def plan_dot(plan: Plan) -> str:
    """Return the operations and their dependencies; dashed lines lead from a region to its bodies."""
    lines = ["digraph plan {", "  compound=true;", "  node [shape=box];", *_scope(plan, 0, "  "), "}"]
    return "\n".join(lines) + "\n"


def _scope(plan: Plan, scope: int, indent: str) -> Iterator[str]:
    for index in plan.scopes[scope].members:
        operation = plan.operations[index]
        yield indent + dot.box(f"o{index}", f"{index} {title(plan, index)}", what(plan, index))
        for earlier in operation.after:
            yield f"{indent}o{earlier} -> o{index};"
        if isinstance(operation.entry, RegionEntry):
            for body in operation.entry.scopes:
                yield f"{indent}subgraph cluster_{body} {{"
                yield f'{indent}  label="{dot.text(plan.scopes[body].name)}";'
                yield from _scope(plan, body, indent + "  ")
                yield f"{indent}}}"
                if plan.scopes[body].members:
                    first = plan.scopes[body].members[0]
                    yield f"{indent}o{index} -> o{first} [style=dashed, lhead=cluster_{body}];"
