"""Blocks that make their engine fail."""

import os
import signal

from warploom.api import Block, BlockBuilder, In, Kernel, Moment, Out, Value, ValueBlock, f32, param, port, value_port


class Fault(Block, id="test_faults.fault", category="Test"):
    """Counts its launches, and fails in one of them."""

    x: In[f32] = port(doc="Not read.", optional=True, advised=False)
    out: Out[f32] = port(shape="[size]", state=True, doc="The number of launches.")
    entry: str = param("far", structural=True, doc="The kernel, which is the kind of the fault.")
    at: float = param(0.0, doc="The launch that fails, counted from 0.")
    size: int = param(4, min=1, structural=True, doc="Elements of `out`.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread."""
        build.launch(Kernel("faults.cu", self.entry), num_threads=1, thread_block=1, args=(self.out, self.at))


class Die(Block, id="test_faults.die", category="Test"):
    """Ends the process while it is described."""

    out: Out[f32] = port(shape="[4]", doc="Zeros.")
    dies: bool = param(False, structural=True, doc="Not while the file is loaded, which describes blocks too.")

    def describe(self, build: BlockBuilder) -> None:
        """Crash."""
        if self.dies:
            os.kill(os.getpid(), signal.SIGSEGV)
        build.fill(self.out)


class DieLater(ValueBlock, id="test_faults.die_later", category="Test"):
    """Ends the process before the launch of a frame."""

    value: Value[float] = value_port(doc="The frame.")
    at: int = param(3, min=0, doc="The frame.")

    def update(self, now: Moment) -> None:
        """Kill the process in that frame."""
        if now.frame == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.value = float(now.frame)
