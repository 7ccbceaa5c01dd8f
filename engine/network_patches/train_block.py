"""`TrainBlock`: a block type whose nodes have the ports of the network that they hold, and train it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from engine.blocktypes.adaptive import Interface
from engine.descriptions.builder import BlockBuilder
from engine.network_patches.model import Model
from engine.network_patches.network_patch import NetworkPatch
from engine.network_patches.settings import TrainSettings
from engine.network_patches.training import Options, Training


class TrainBlock(TrainSettings, abstract=True):
    """A block type whose nodes train the network that the parameter `graph` holds as JSON."""

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports of the network; none while there is no network."""
        if not values["graph"]:
            return Interface()
        options = Options(**{item.name: values[item.name] for item in fields(Options)})
        model = Model(NetworkPatch.parse(values["graph"]), options.seed)
        return Training(model, options).interface()

    def describe(self, build: BlockBuilder) -> None:
        """Train, and answer the query; nothing while there is no network."""
        if self.content is not None:
            self.content.describe(build)
