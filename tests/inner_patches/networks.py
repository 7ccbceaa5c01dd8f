"""Networks that tests train, connected as a person connects them."""

from typing import Any

import numpy as np

from warploom import Patch
from warploom.blocks.tensor.train import _SMALL
from warploom.engine.inner_patches.training import NetworkPatch
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array


def small() -> NetworkPatch:
    """Return the network of a new block, which learns one number from 64 with its layers `hidden` and `last`."""
    return NetworkPatch.parse(_SMALL)


def data(seed: int, rows: int, columns: int) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def placed(network: NetworkPatch, inputs: dict[str, Array], **options: Any) -> tuple[Patch, NodeRef]:
    """Return a patch with a block that trains a network on these inputs."""
    patch = Patch()
    node = patch.add("tensor.train", node_id="train", graph=network.json(), **options)
    for name, array in inputs.items():
        patch.connect(patch.add("io.array", node_id=f"{name}_data", data=array)["out"], node[name])
    return patch, node
