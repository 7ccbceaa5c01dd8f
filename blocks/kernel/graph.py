from collections.abc import Mapping
from typing import Any

from engine.api import GraphBlock, Interface, graph_from_json, graph_interface, param

#: A new block scales each element by a parameter.
_SCALED = {
    "nodes": [
        {"id": "x", "type": "op.input", "position": [0, 0]},
        {
            "id": "amount",
            "type": "op.parameter",
            "position": [0, 160],
            "parameters": {"bounded": True, "default": 1.0, "maximum": 2.0},
        },
        {"id": "multiply", "type": "op.multiply", "position": [240, 0]},
        {"id": "result", "type": "op.output", "position": [456, 0]},
    ],
    "connections": [
        {"source": "x.value", "target": "multiply.a"},
        {"source": "amount.out", "target": "multiply.b"},
        {"source": "multiply.out", "target": "result.value"},
    ],
}


class KernelGraph(GraphBlock, id="kernel.graph", title="Kernel", tags=("ops", "patch", "shader", "nodes", "code")):
    """Run a kernel that you patch from ops: open the block and wire it.

    An `op.input` is an input port, an `op.output` an output, an `op.parameter` a slider. Each thread computes one
    element; `op.load` and `op.sample` read elsewhere. The graph is compiled while you wire it, and the patch runs on. A
    new block multiplies each element by a parameter.
    """

    graph: dict[str, Any] = param(_SCALED, doc="The ops and how they are wired; open the block to edit them.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the op graph."""
        if not values["graph"]:
            return Interface()
        return graph_interface(graph_from_json(values["graph"]), values["constants"])
