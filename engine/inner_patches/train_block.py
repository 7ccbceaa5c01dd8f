"""`TrainBlock`: the block type that trains a network. Its network's code is imported when a node needs it."""

from collections.abc import Mapping
from typing import Any

from warploom.engine.blocktypes.adaptive import Interface
from warploom.engine.inner_patches.train_settings import TrainSettings
from warploom.engine.patch.inner_patch import GRAPH, InnerBlock, InnerPatch


class TrainBlock(TrainSettings, InnerBlock, abstract=True):
    """A block type whose nodes train the network in the parameter `graph`, which is JSON."""

    @classmethod
    def inner_patch(cls) -> type[InnerPatch]:
        """Return the kind of patch that its nodes hold."""
        from warploom.engine.inner_patches.training import NetworkPatch

        return NetworkPatch

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports of the network; none while there is no network."""
        if not values[GRAPH]:
            return Interface()
        from warploom.engine.inner_patches.network_model import Model
        from warploom.engine.inner_patches.training import NetworkPatch, Training

        return Training(Model(NetworkPatch.parse(values[GRAPH]), values["seed"]), values).interface()
