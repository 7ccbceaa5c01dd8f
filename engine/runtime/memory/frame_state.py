"""Takes the state of a graph and of value blocks between two frames, and puts it back."""

from collections.abc import Mapping

import numpy as np

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.values.value_graph import ValueGraph


def has_state(compiled: CompiledGraph | None, values: ValueGraph) -> bool:
    """Return whether a frame depends on those before it."""
    return (compiled is not None and compiled.has_state) or values.has_state


def take_state(device: Device, compiled: CompiledGraph | None, values: ValueGraph, frame: int) -> EngineState:
    """Return the state before a frame; no launch may be under way. Raise PatchError for a block that can't be saved."""
    buffers = {}
    for owner, (memory, size_bytes) in compiled.state.items() if compiled is not None else ():
        buffers[str(owner)] = contents = np.empty(size_bytes, np.uint8)
        device.read(memory, contents)
    phase, is_launched = (compiled.phase, compiled.is_launched) if compiled is not None else (0, False)
    return EngineState(frame, phase, is_launched, buffers, values.dump_state())


def put_state(
    device: Device, compiled: CompiledGraph | None, values: ValueGraph, state: EngineState, *, partly: bool = False
) -> None:
    """Go on from a state; no launch may be under way.

    Raise PatchError if it is of another patch, or with `partly`, leave out what does not fit.
    """
    if compiled is not None:
        compiled.go_on(state.phase, is_launched=state.is_launched)
    there = {str(owner): place for owner, place in (compiled.state if compiled is not None else {}).items()}
    if not partly:
        _check({name: size for name, (_, size) in there.items()}, state)
    for name, contents in state.buffers.items():
        memory, size_bytes = there.get(name, (None, 0))
        if memory is not None and size_bytes == contents.nbytes:
            device.write(memory, contents)
    values.load_state(state.values)


def _check(there: Mapping[str, int], state: EngineState) -> None:
    given = {name: contents.nbytes for name, contents in state.buffers.items()}
    if there != given:
        name = min(there.items() ^ given.items())[0]
        raise PatchError(
            f"state must be of the patch that runs: {name} must have {there.get(name, 0):,} bytes, "
            f"got {given.get(name, 0):,}"
        )
