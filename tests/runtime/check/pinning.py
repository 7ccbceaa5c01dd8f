"""A patch with state, and pins of it."""

import numpy as np

from warploom import Engine, Patch
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.runtime.check.pins import copy_for_pins, pin_output, read_pinned


def moving(size: int = 8) -> Patch:
    """Return a patch with state: each frame adds an array to a sum, and the time to a value."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.linspace(-1, 1, size, dtype=np.float32))
    total = patch.add("math.add", node_id="total")
    delay = patch.add("buffer.frame_delay", node_id="delay")
    lfo = patch.add("value.lfo", node_id="lfo")
    scale = patch.add("math.scale_offset", node_id="scale")
    patch.connect(lfo["value"], scale["scale"])
    patch.connect(total["out"], scale["x"])
    patch.connect(data["out"], total["x"])
    patch.connect(delay["out"], total["y"])
    patch.connect(total["out"], delay["x"])
    return patch


def pinned(patch: Patch, port: PortRef, frame: int = 3, **options: float | None) -> Pin:
    """Pin what an output holds in an engine of its own."""
    with Engine(copy_for_pins(patch), "host") as engine:
        values = read_pinned(engine, PortRef(port.node, port.port), frame)
    return pin_output(patch, port, values, frame=frame, **options)
