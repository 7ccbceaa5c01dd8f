"""The blocks of a chain: its ends, and the blocks of the library that are library calls alone, which `record` finds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.blocktypes.describing import run_describe
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue
from warploom.engine.catalogue.fixed_catalogue import RowBlock, row_block
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.libraries.call import CallOn
from warploom.engine.libraries.own import OwnCall
from warploom.engine.types import any_type


def _number(name: str, default: float, doc: str) -> ParameterSpec:
    return ParameterSpec(name, "float", default, doc, minimum=-1e9, maximum=1e9, structural=True)


INPUT, OUTPUT, NUMBER = "chain.input", "chain.output", "chain.number"
_NAME = ParameterSpec(
    "name", "str", "", "Name of the port or parameter; empty for the name of this block.", structural=True
)
#: The ends of chains, by id.
ENDS: dict[str, type[RowBlock]] = {
    INPUT: row_block(
        *(INPUT, "Input", "chain", "An input of the chain, which becomes an input port of its block."),
        [PortSpec("value", "out", any_type, "The buffer that is connected to the port.", "data", dtype_rule="given")],
        [_NAME],
        tags=("port", "in"),
    ),
    OUTPUT: row_block(
        *(OUTPUT, "Output", "chain", "An output of the chain, which becomes an output port of its block."),
        [PortSpec("value", "in", any_type, "The buffer to output.", "same", strided=True)],
        [_NAME],
        tags=("port", "out", "result"),
    ),
    NUMBER: row_block(
        *(NUMBER, "Number", "chain"),
        "A number for parameters of calls, such as alpha, which becomes a live parameter of the chain's block.",
        [ValueSpec("value", "float", "Value of the parameter.")],
        [
            *(_NAME, _number("default", 1.0, "Default value.")),
            _number("minimum", -10.0, "Lower end of the parameter's slider."),
            _number("maximum", 10.0, "Upper end of the parameter's slider."),
        ],
        tags=("parameter", "slider", "scalar", "alpha"),
    ),
}


class _Recorder(BlockBuilder):
    """A builder that records library calls; other calls describe the block as usual."""

    def __init__(self, block: Block) -> None:
        self._block = block
        sizes = {n: block.values[n] for n, s in block.parameters.items() if s.is_size}
        live = [name for name, spec in block.parameters.items() if not spec.structural]
        super().__init__(block.id, block.ports, live, sizes, block.source_folder())
        self.calls: list[CallOn] = []

    def capture(self, *calls: CallOn) -> None:
        """Record the calls."""
        self.calls += calls

    def between(self) -> list[str]:
        """Return the buffers between the calls. Raise PatchError when the block does more than call libraries."""
        others = (self._entries, self._contents.is_any, self._views, self._statuses, self._composition)
        if any(others) or any(buffer.shape != "captured" for buffer in self._buffers.values()):
            raise PatchError(f"block in a chain must consist of library calls only, got {self._block.title}")
        return list(self._buffers)


def record(block: Block) -> tuple[list[CallOn], list[str]]:
    """Return the library calls of a block, in order, and the buffers between them. Raise PatchError if it does more."""
    if (apart := block.apart) is not None:
        return apart.ask("describe", _recorded, block.node, block.values)
    recorder = _Recorder(block)
    run_describe(block, recorder)
    return recorder.calls, recorder.between()


def _recorded(block_type: type[Block], node: str, values: Mapping[str, Any]) -> tuple[list[CallOn], list[str]]:
    return record(block_type(node, values))


#: Whether a block type with its default parameters only calls libraries.
_calls: WeakKeyDictionary[type[Block], bool] = WeakKeyDictionary()


def is_call(block_type: type[Block]) -> bool:
    """Return whether a block type only calls libraries, so that a chain can contain it."""
    if block_type.apart is not None:
        return block_type.apart.only_calls
    known = _calls.get(block_type)
    if known is None:
        try:
            calls = [] if block_type.is_value else record(block_type())[0]
            known = bool(calls) and not any(isinstance(made.call, OwnCall) for made in calls)
        except (Exception, SystemExit):  # noqa: BLE001  # describe may fail in any way
            known = False
        _calls[block_type] = known
    return known


class ChainCatalogue(Catalogue):
    """The ends of chains, and the library calls of another catalogue."""

    member = "a library call"

    def get(self, type_id: str) -> type[Block] | None:
        """Return the block type of an id; None for an unknown id and for value blocks."""
        found = ENDS.get(type_id) or super().get(type_id)
        return found if found is None or not found.is_value or type_id in ENDS else None

    def all(self) -> list[type[Block]]:
        """Return the ends, then every library call by category and title."""
        return [*ENDS.values(), *filter(is_call, super().all())]


@cache
def chain_catalogue() -> ChainCatalogue:
    """Return the catalogue of block types that a chain can contain."""
    default_catalogue()  # loads the library
    return ChainCatalogue()
