"""Replaying: frames whose steps are announced one by one, so that the one that kills the process is known."""

import struct
import threading
from collections.abc import Mapping
from queue import SimpleQueue

import msgspec
import numpy as np

from warploom.engine.compiler.executable.by_operation import Loops, launch_by_operation
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.compiler.inspection.labels import what
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import (
    BufferArgument,
    ConditionArgument,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    VectorArgument,
)
from warploom.engine.device.arguments import components_of
from warploom.engine.device.protocol import GraphNode
from warploom.engine.diagnostics import DeviceError, Diagnostic, KernelFault, LoopStopped, Severity, Source, error
from warploom.engine.protocol.questions import Doing, ReplayStep
from warploom.engine.runtime.frame.cuda_engine import CudaEngine
from warploom.engine.runtime.frame.thread import FrameLock
from warploom.engine.runtime.report.faults import find_fault
from warploom.engine.types import NAMED
from warploom.engine.user_code.runner import say_nothing


class _Ended(BaseException):
    """Raised at the next operation when nobody asks for steps any more."""


class Replayer:
    """Runs an engine's frames by hand on a thread of its own, which waits before each step until it is asked for.

    The engine no longer listens to the network or to MIDI: another engine of the same patch may.
    """

    def __init__(self, engine: CudaEngine, lock: FrameLock, from_frame: int) -> None:
        self._engine, self._lock, self._from_frame = engine, lock, from_frame
        self._codes = engine.context.code, engine.context.services.code
        self._go = threading.Semaphore(0)
        self._steps: SimpleQueue[ReplayStep] = SimpleQueue()
        self._is_ended = False
        #: The step under way, and the fault of its operation.
        self._step = ReplayStep(0, Doing.START, "start")
        self._fault: Diagnostic | None = None
        self._thread = threading.Thread(target=self._run, name="warploom-engine", daemon=True)
        self._thread.start()

    def step(self) -> ReplayStep:
        """Do what the last answer named, and return the next step."""
        if self._step.fault is None:
            self._go.release()
            return self._steps.get()
        return self._step

    def end(self) -> None:
        """End the thread before the next operation or frame; the engine can then run frames again."""
        self._is_ended = True
        self._go.release()
        self._thread.join()
        self._engine.launcher.launch_instead = None
        for code in self._codes:
            code.announce = say_nothing

    def _run(self) -> None:
        engine = self._engine
        self._go.acquire()
        engine.context.value_graph.stop_listening()
        engine.live.is_replay = True
        for code in self._codes:
            code.announce = self._announce
        try:
            while True:
                frame = engine.clock.moment.frame
                is_whole = frame < self._from_frame
                self._wait(_plain(frame, Doing.FRAME if is_whole else Doing.UPDATE))
                if self._is_ended:
                    return
                engine.launcher.launch_instead = None if is_whole else self._launch
                with self._lock:
                    report = engine.frame()
                wrong = [item for item in report.diagnostics if item.severity is Severity.ERROR]
                if wrong and engine.updates.compiled is None:
                    self._fail(wrong[0])
                    return
        except DeviceError as problem:
            self._fail(self._fault or error(str(problem), source=Source.LAUNCH))
        except _Ended:
            pass

    def _wait(self, step: ReplayStep) -> None:
        """Answer with a step, and wait until it is asked for."""
        if not self._is_ended:
            self._step = step
            self._steps.put(step)
            self._go.acquire()

    def _announce(self, node: str, method: str) -> None:
        frame = self._engine.clock.moment.frame
        if frame >= self._from_frame:
            code = ReplayStep(frame, Doing.CODE, f"{method} in Python", (node,))
            self._wait(code if node else _plain(frame, Doing.UPDATE))

    def _launch(self, compiled: CompiledGraph) -> None:
        engine, frame = self._engine, self._engine.clock.moment.frame
        kernels = {kernel.operation: kernel for kernel in compiled.variants[compiled.phase].kernels}
        at = 0

        def before(index: int, loops: Loops) -> None:
            nonlocal at
            at = index
            self._wait(_step_of(compiled.plan, index, kernels, frame, loops))
            if self._is_ended:
                raise _Ended

        uniforms = engine.context.services.uniforms.current
        try:
            launch_by_operation(compiled, engine.device, uniforms, engine.launcher.stream, before)
        except DeviceError as problem:
            self._fault = self._explain(problem, compiled, at)
            raise

    def _explain(self, problem: DeviceError, compiled: CompiledGraph, index: int) -> Diagnostic:
        """Return the diagnostic of an operation's fault."""
        while isinstance(problem.__context__, DeviceError):  # after a fault on a GPU, freeing the graph fails too
            problem = problem.__context__
        named = problem.node if isinstance(problem, KernelFault | LoopStopped) else None
        operations = {GraphNode(named): index} if named is not None else {}
        why, node = find_fault(problem, compiled, operations).diagnostic, compiled.plan.operations[index].node
        text = f"{self._step.work} must end without a fault, got {problem.reason}" if problem.reason else str(problem)
        return msgspec.structs.replace(why, message=text, node=why.node or node or None)

    def _fail(self, why: Diagnostic) -> None:
        self._step = msgspec.structs.replace(self._step, fault=why)
        self._steps.put(self._step)


def _plain(frame: int, doing: Doing) -> ReplayStep:
    return ReplayStep(frame, doing, str(doing))


def _step_of(plan: Plan, index: int, kernels: Mapping[int, KernelNode], frame: int, loops: Loops) -> ReplayStep:
    operation = plan.operations[index]
    entry, nodes = operation.entry, tuple(node for node in operation.nodes if node)
    if isinstance(entry, KernelEntry):
        source = entry.kernel.source
        file = None if isinstance(source, str) else source.file
        arguments = _arguments(plan, index, entry, kernels[index])
        return ReplayStep(frame, Doing.OPERATION, what(plan, index), nodes, entry.kernel.entry, file, loops, arguments)
    return ReplayStep(frame, Doing.OPERATION, what(plan, index), nodes, None, None, loops)


def _arguments(plan: Plan, index: int, entry: KernelEntry, kernel: KernelNode) -> tuple[str, ...]:
    """Return a kernel's arguments as texts: buffers by port, type and size, others by their values."""
    node, layout, block = plan.operations[index].node, kernel.arguments.layout, kernel.arguments.block.tobytes()
    origins = entry.origins if isinstance(entry, FusedEntry) else (node,) * len(entry.arguments)
    found = []
    for place, (argument, origin) in enumerate(zip(entry.arguments, origins, strict=True)):
        parameter = layout.parameters[place]
        data = block[parameter.offset : parameter.offset + parameter.size_bytes]
        code = layout.formats[place] or {1: "B", 2: "H", 4: "i", 8: "q"}.get(parameter.size_bytes)
        name, number = parameter.name, data.hex() if code is None else struct.unpack(f"<{code}", data)[0]
        match argument:
            case BufferArgument(name=name):
                made = plan.buffers.blocks[origin].layouts.layouts.get(name)
                address = int.from_bytes(data, "little")
                text = "not connected" if made is None else f"{made}, {made.span_bytes:,} bytes at {address:#x}"
            case ParameterArgument(name=name):
                text = str(number)
            case VectorArgument():
                parts = ((part.declared, part.offset - parameter.offset) for part in components_of(parameter))
                text = str(tuple(np.frombuffer(data, NAMED[kind].numpy, 1, at)[0].item() for kind, at in parts))
            case FrameArgument():
                text = "the frame's index and times"
            case ConditionArgument():
                text = "the condition of the region"
            case _:
                text = str(number)
        found.append(f"{name if origin == node else f'{origin}.{name}'} = {text}")
    return tuple(found)
