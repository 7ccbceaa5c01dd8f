from typing import Any

from warploom.api import TrainBlock, param

#: A new block's network: it learns one number from 64.
_SMALL = {
    "nodes": [
        {"id": "x", "type": "net.input", "position": [0, 0]},
        {"id": "hidden", "type": "net.dense", "position": [240, 0]},
        {
            "id": "last",
            "type": "net.dense",
            "position": [480, 0],
            "parameters": {"activation": "none", "units": 1},
        },
        {"id": "result", "type": "net.output", "position": [740, -80]},
        {"id": "y", "type": "net.target", "position": [480, 240], "parameters": {"shape": "1"}},
        {"id": "error", "type": "net.squared_error", "position": [740, 100]},
    ],
    "connections": [
        {"source": "x.out", "target": "hidden.x"},
        {"source": "hidden.out", "target": "last.x"},
        {"source": "last.out", "target": "result.x"},
        {"source": "last.out", "target": "error.x"},
        {"source": "y.out", "target": "error.targets"},
    ],
}


class Train(
    TrainBlock, id="tensor.train", tags=("network", "neural", "learn", "backpropagation", "model", "layers", "gradient")
):
    """Trains a network of layers that you patch: open the block to edit it.

    Each frame is one training step: the batch at the inputs goes forward, the gradients of the losses go back, and the
    optimiser changes the weights, all inside the patch's one CUDA graph. In the network, each `Input` and `Target`
    becomes an input port of the block; each `Output` and all weights become output ports. With `query`, the outputs are
    the network's results for separate inputs, such as pictures that it was not trained with. Weights are kept while the
    rest of the patch is edited; another `seed` starts the training again.
    """

    graph: dict[str, Any] = param(_SMALL, doc="The layers and their connections; open the block to edit them.")
