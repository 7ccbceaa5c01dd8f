"""`ChainBlock`: a block type whose nodes have the ports and parameters of a chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.blocktypes.adaptive import AdaptiveBlock, Interface
from engine.chains.chain_patch import ChainPatch
from engine.descriptions.builder import BlockBuilder


class ChainBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes make the library calls of a chain, which the parameter `graph` holds as JSON."""

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """Return the ports and parameters of the chain; none while there is no chain."""
        return ChainPatch.parse(values["graph"]).chain.interface() if values["graph"] else Interface()

    def describe(self, build: BlockBuilder) -> None:
        """Make the calls; nothing while there is no chain."""
        if self.content is not None:
            self.content.describe(build)
