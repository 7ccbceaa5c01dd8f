"""Value blocks: blocks that compute numbers on the engine's thread, once a frame, before the graph is launched.

A value block has parameters and value outputs, and no buffer ports: the compiler never sees it.
"""

from typing import ClassVar

from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.descriptions.ports import PortSpec


class ValueBlock(UpdatedBlock, abstract=True):
    """A block that computes numbers: subclass it like `Block`, and define `update` instead of `describe`."""

    is_value: ClassVar[bool] = True
    _runs: bool = True

    def describe(self, build: BlockBuilder) -> None:
        """Describe nothing: a value block has no work on the device."""

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        ports, parameters = super()._declared()
        if ports:
            raise BlockDefinitionError(
                f"value block {cls.id} must have value outputs only, got port {next(iter(ports))}"
            )
        if not cls.values_out:
            raise BlockDefinitionError(f"value block {cls.id} must have at least one value output, got none")
        return ports, parameters
