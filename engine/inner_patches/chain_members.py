"""The blocks of a chain: its ends, and the blocks of the library that are library calls alone, which `record` finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from weakref import WeakKeyDictionary

from engine.blocktypes.block import Block, run_describe
from engine.blocktypes.declarations import In, Out, Value, param, port, value_port
from engine.blocktypes.value_blocks import Moment, ValueBlock
from engine.catalogue.catalogue import Catalogue, default_catalogue
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.entries import InternalBuffer
from engine.diagnostics import PatchError
from engine.libraries.call import CallOn
from engine.types import any_type


class ChainInput(Block, abstract=True):
    """An input of the chain, which becomes an input port of its block.

    The port has the name of this input.
    """

    value: Out[any_type] = port(dtype="given", shape="data", doc="The buffer that is connected to the port.")
    name: str = param("", structural=True, doc="Name of the port; empty for the name of this block.")

    def describe(self, build: BlockBuilder) -> None:
        """Record nothing: an end calls no library."""


class ChainOutput(Block, abstract=True):
    """An output of the chain, which becomes an output port of its block.

    The port has the name of this output, and the element type and shape of the connected buffer.
    """

    value: In[any_type] = port(strided=True, doc="The buffer to output.")
    name: str = param("", structural=True, doc="Name of the port; empty for the name of this block.")

    def describe(self, build: BlockBuilder) -> None:
        """Record nothing: an end calls no library."""


class ChainNumber(ValueBlock, abstract=True):
    """A number, which becomes a live parameter of the chain's block.

    Connect it to parameters of calls, such as alpha. A change of the value needs no new capture.
    """

    value: Value[float] = value_port(doc="Value of the parameter.")
    name: str = param("", structural=True, doc="Name of the parameter; empty for the name of this block.")
    default: float = param(1.0, min=-1e9, max=1e9, structural=True, doc="Default value.")
    minimum: float = param(-10.0, min=-1e9, max=1e9, structural=True, doc="Lower end of the parameter's slider.")
    maximum: float = param(10.0, min=-1e9, max=1e9, structural=True, doc="Upper end of the parameter's slider.")

    def update(self, now: Moment) -> None:
        """Compute nothing: the parameter is set from outside."""


def _end(block_type: type[Block], type_id: str, title: str, *tags: str) -> type[Block]:
    """Complete a block type that only the catalogue of chains has."""
    block_type.id, block_type.version, block_type.title = type_id, 1, title
    block_type.category, block_type.tags, block_type.regions = "chain", tags, ()
    block_type.summary = (block_type.__doc__ or "").splitlines()[0]
    block_type.declare()
    return block_type


#: The ends of chains, by id.
ENDS: dict[str, type[Block]] = {
    end.id: end
    for end in (
        _end(ChainInput, "chain.input", "Input", "port", "in"),
        _end(ChainOutput, "chain.output", "Output", "port", "out", "result"),
        _end(ChainNumber, "chain.number", "Number", "parameter", "slider", "scalar", "alpha"),
    )
}


@dataclass
class Recorded:
    """The library calls of a block, in order, and the buffers between them."""

    calls: list[CallOn] = field(default_factory=list)
    buffers: dict[str, InternalBuffer] = field(default_factory=dict)


class _Recorder(BlockBuilder):
    """A builder that records library calls; other calls describe the block as usual."""

    def __init__(self, block: Block) -> None:
        sizes = {n: block.values[n] for n, s in block.parameters.items() if s.is_size}
        live = [name for name, spec in block.parameters.items() if not spec.structural]
        super().__init__(block.id, block.ports, live, sizes, block.source_folder())
        self.recorded = Recorded(buffers=self._buffers)

    def capture(self, *calls: CallOn) -> None:
        """Record the calls."""
        self.recorded.calls += calls

    @property
    def does_more(self) -> bool:
        """Whether the block launches kernels, copies memory or has buffers with declared shapes."""
        others = (self._entries, self._contents.is_any, self._views, self._statuses, self._composition)
        return any(others) or any(buffer.shape != "captured" for buffer in self._buffers.values())


def record(block: Block) -> Recorded:
    """Return the library calls of a block; PatchError when it does anything else."""
    recorder = _Recorder(block)
    run_describe(block, recorder)
    if recorder.does_more:
        raise PatchError(f"block in a chain must consist of library calls only, got {block.title}")
    return recorder.recorded


#: Whether a block type with its default parameters only calls libraries.
_calls: WeakKeyDictionary[type[Block], bool] = WeakKeyDictionary()


def is_call(block_type: type[Block]) -> bool:
    """Return whether a block type only calls libraries, so that a chain can contain it."""
    known = _calls.get(block_type)
    if known is None:
        try:
            known = not block_type.is_value and bool(record(block_type()).calls)
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
    default_catalogue()  # which loads the library
    return ChainCatalogue()
