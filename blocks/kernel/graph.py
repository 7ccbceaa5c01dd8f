from collections.abc import Mapping
from typing import Any

from engine.api import GraphBlock, Interface, graph_from_json, graph_interface, param


class KernelGraph(GraphBlock, id="kernel.graph", title="Kernel", tags=("ops", "patch", "shader", "nodes", "code")):
    """Run a kernel that you patch from ops: open the block and wire it.

    An `op.input` is an input port, an `op.output` an output, an `op.parameter` a slider. Each thread computes one
    element; `op.load` and `op.sample` read elsewhere. The graph is compiled while you wire it, and the patch runs on.
    """

    graph: dict[str, Any] = param({}, doc="The ops and how they are wired; open the block to edit them.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the op graph."""
        if not values["graph"]:
            return Interface()
        return graph_interface(graph_from_json(values["graph"]))
