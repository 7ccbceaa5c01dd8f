"""`Composite`: a block type made of other blocks.

Inside, a composite is a patch: its children follow the rules of every patch. From outside it is a block like any other,
with the ports and parameters that it exposes. The compiler replaces it by its children (`engine.compiler.inlining`), so
a composite adds no work.
"""

from typing import Any, ClassVar

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.checks import BlockDefinitionError
from engine.descriptions.ports import PortSpec
from engine.diagnostics import PatchError
from engine.patch.composite_builder import CompositeBuilder


class Composite(Block, abstract=True):
    """A block type made of others: subclass it like `Block`, and define `compose` instead of `describe`.

    Ports and parameters are those that `compose` exposes. A composite may declare its own structural parameters, which
    `compose` can read; its exposed ports must not depend on them. With `as_child_graph=True` its blocks become one
    child graph of the CUDA graph.
    """

    as_child_graph: ClassVar[bool] = False
    #: True when a child is a region, at any depth.
    holds_regions: ClassVar[bool] = False
    _own: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, as_child_graph: bool = False, **keywords: Any) -> None:
        cls.as_child_graph = as_child_graph
        if keywords.get("regions"):
            raise BlockDefinitionError(f"composite {keywords.get('id')} must not be a region itself, only hold some")
        super().__init_subclass__(**keywords)

    def compose(self, build: CompositeBuilder) -> None:
        """Describe the blocks of the composite by calls of `build`."""
        raise NotImplementedError(f"composite {self.id} must define compose")

    def describe(self, build: BlockBuilder) -> None:
        """Compose the children's descriptions; PatchError when this exposes something else than the type declares."""
        inner = self._composed()
        declared = type(self)
        got = (_ports(inner.ports), _types(inner.parameters))
        own = {name: spec for name, spec in declared.parameters.items() if name not in declared._own}
        if got != (_ports(declared.ports), _types(own)):
            raise PatchError(
                f"composite {self.id} must expose the same ports and parameters for all of its values, got others"
            )
        build.compose(inner.commit(as_child_graph=declared.as_child_graph))

    @classmethod
    def _declared(cls) -> tuple[dict[str, PortSpec], dict[str, ParameterSpec]]:
        ports, own = super()._declared()
        if ports:
            raise BlockDefinitionError(f"composite {cls.id} must expose its ports in compose, got {', '.join(ports)}")
        live = [name for name, spec in own.items() if not spec.structural]
        if live:
            raise BlockDefinitionError(
                f"composite {cls.id}: parameter {live[0]} must be structural, or be exposed from a child"
            )
        if "ports" not in vars(cls):  # other threads may still use these while a type is declared again
            cls.ports, cls.parameters = {}, own
        cls._own = frozenset(own)
        try:
            inner = cls()._composed()
        except PatchError as problem:
            raise BlockDefinitionError(f"composite {cls.id}: {problem}") from problem
        cls.holds_regions, cls.made_of = inner.holds_regions, inner.made_of
        if cls.as_child_graph and inner.holds_regions:
            raise BlockDefinitionError(
                f"composite {cls.id} must not be one child graph, since it holds a region, "
                "and CUDA allows no region in a child graph"
            )
        return inner.ports, {**own, **inner.parameters}

    def _composed(self) -> CompositeBuilder:
        build = CompositeBuilder(self, type(self)._own)
        self.compose(build)
        build.check()
        return build


def _ports(specs: dict[str, PortSpec]) -> dict[str, tuple[str, str]]:
    return {name: (spec.direction, str(spec.dtype)) for name, spec in specs.items()}


def _types(specs: dict[str, ParameterSpec]) -> dict[str, str]:
    return {name: spec.type for name, spec in specs.items()}
