from typing import Any

from warploom.api import GraphBlock, param

#: A new block's kernel: it multiplies each element by a parameter.
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
    """Runs a kernel of ops that you patch: open the block to edit it.

    In the kernel, each `op.input` becomes an input port, each `op.output` an output port, and each `op.parameter` a
    slider. Each thread computes one element; `op.load` and `op.sample` read other elements. The kernel is compiled as
    you edit it, while the patch keeps running. A new block multiplies each element by a parameter.
    """

    graph: dict[str, Any] = param(_SCALED, doc="The ops and their connections; open the block to edit them.")
