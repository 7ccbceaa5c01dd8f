"""What updates need of the device: services that any thread may use."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from engine.compiler.frame import Frame
from engine.device.device import Device
from engine.runtime.memory.buffer_pool import BufferPool
from engine.runtime.memory.state_store import StateStore
from engine.runtime.model.module_cache import ModuleCache


class DeviceServices:
    """The buffer pool, the module cache, the state of one device, and the frame uniforms that all graphs read.

    The worker gets these, with plain data, and nothing else of the engine. State is claimed by the worker and committed
    by the engine's thread, which never happens at the same time.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pool = BufferPool(device)
        self.modules = ModuleCache(device)
        self.states = StateStore(self.pool, device)
        #: The stream of what the worker has done on the device.
        self.side = device.create_stream()
        self.frame = device.pinned(np.zeros(1, Frame.numpy))
        self.frame_memory = self.pool.acquire(Frame.size_bytes)

    def close(self) -> None:
        """Free everything on the device, each part whatever it says of another."""
        with ExitStack() as closing:  # the last first
            for give_back in (self.pool.close, self.side.destroy, self.modules.close, self.frame.free):
                closing.callback(give_back)
