"""`TrainBlock`: a block type whose nodes have the ports of the network that they hold, and train it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.blocktypes.adaptive import AdaptiveBlock, Interface
from engine.descriptions.builder import BlockBuilder
from engine.network_patches.model import Model
from engine.network_patches.network_patch import NetworkPatch
from engine.network_patches.training import Options, Training


class TrainBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes train the network that the parameter `graph` holds as JSON."""

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports of the network; none while there is no network."""
        if not values["graph"]:
            return Interface()
        options = Options(
            values["optimiser"],
            values["weight_decay"],
            values["train"],
            values["query"],
            values["history"],
            values["seed"],
        )
        model = Model(NetworkPatch.parse(values["graph"]), options.seed)
        return Training(model, options).interface()

    def describe(self, build: BlockBuilder) -> None:
        """Train, and answer the query; nothing while there is no network."""
        if self.content is not None:
            self.content.describe(build)
