from typing import Any

from warploom.api import ChainBlock, param

#: A new block's chain: it multiplies two matrices, and the product by the second matrix again.
_PRODUCTS = {
    "nodes": [
        {"id": "a", "type": "chain.input", "position": [0, 0]},
        {"id": "b", "type": "chain.input", "position": [0, 140]},
        {"id": "first", "type": "linalg.multiply", "position": [240, 0]},
        {"id": "second", "type": "linalg.multiply", "position": [500, 60]},
        {"id": "result", "type": "chain.output", "position": [760, 60]},
    ],
    "connections": [
        {"source": "a.value", "target": "first.a"},
        {"source": "b.value", "target": "first.b"},
        {"source": "first.out", "target": "second.a"},
        {"source": "b.value", "target": "second.b"},
        {"source": "second.out", "target": "result.value"},
    ],
}


class Chain(
    ChainBlock, id="kernel.chain", title="Library Chain", tags=("capture", "library", "blas", "fft", "sequence")
):
    """Runs several library calls that you patch, as one node: open the block to edit them.

    In the chain, each `Input` becomes an input port, each `Output` an output port, and each `Number` a slider for a
    parameter such as alpha. The calls run one after another and share scratch memory; buffers between them can't be
    used outside the block. On CUDA the calls are captured into one child graph. A new block computes a b b.
    """

    graph: dict[str, Any] = param(_PRODUCTS, doc="The calls and their connections; open the block to edit them.")
