"""Recording what a block calls, instead of describing it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.blocktypes.block import Block, run_describe
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.entries import InternalBuffer
from engine.diagnostics import PatchError
from engine.libraries.call import CallOn


@dataclass
class Recorded:
    """The library calls of a block, in order, and the buffers between them."""

    calls: list[CallOn] = field(default_factory=list)
    buffers: dict[str, InternalBuffer] = field(default_factory=dict)


class _Recorder(BlockBuilder):
    """A builder that notes library calls; everything else goes where a description would have it."""

    def __init__(self, block: Block) -> None:
        sizes = {n: block.values[n] for n, s in block.parameters.items() if s.is_size}
        live = [name for name, spec in block.parameters.items() if not spec.structural]
        super().__init__(block.id, block.ports, live, sizes, block.source_folder())
        self.recorded = Recorded(buffers=self._buffers)

    def capture(self, *calls: CallOn) -> None:
        """Note the calls."""
        self.recorded.calls += calls

    @property
    def does_more(self) -> bool:
        """True when the block launches kernels, moves memory or has buffers of a shape of their own."""
        others = (self._entries, self._contents.is_any, self._views, self._statuses, self._composition)
        return any(others) or any(buffer.shape != "captured" for buffer in self._buffers.values())


def record(block: Block) -> Recorded:
    """Return what a block calls; PatchError when it does anything else."""
    recorder = _Recorder(block)
    run_describe(block, recorder)
    if recorder.does_more:
        raise PatchError(f"block in a chain must be library calls and nothing else, got {block.title}")
    return recorder.recorded
