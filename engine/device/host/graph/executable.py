"""Instantiated graphs, whose programs native code and Python run in turns."""

import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.host.graph import stepper
from warploom.engine.device.host.graph.program import GraphProgram
from warploom.engine.device.host.pool import WAKE_NS, PoolWorker
from warploom.engine.device.host.team import run_graph
from warploom.engine.device.host.watchdog import RUNNING, TIME_LIMIT, Stopwatch
from warploom.engine.device.nodes import KernelWork
from warploom.engine.device.protocol import Capture, GraphNode, LaunchConfig, LoadedKernel, Memory, PinnedArray, Stream
from warploom.engine.diagnostics import DeviceError, KernelFault, LoopStopped
from warploom.engine.host_compiler import abi

#: Bounds for the time that native code runs loops before Python checks the time limit and looks for optimised kernels.
_LEAST_NS, _MOST_NS = 2_000_000, 8_000_000
_MOST_TURNS = 1 << 20


class HostExecutable:
    """A graph that is ready to run; it keeps the conditions and kernels that it needs."""

    def __init__(self, program: GraphProgram, lock: threading.Lock, conditions: tuple[object, ...]) -> None:
        self._program: GraphProgram | None = program
        self._lock = lock
        self._conditions = conditions  # kept alive, since kernels write to their addresses
        self._watchdog = watchdog = program.pool.watchdog
        self._services = program.pool.services
        self._state = np.zeros(stepper.STATE_FIELDS, np.int64)
        self._state[stepper.STOP] = watchdog.address
        self._state[stepper.SERVED] = self._services.served.ctypes.data
        self._addresses = int(program.code.ctypes.data), int(self._state.ctypes.data)
        self._turns_at_once = 64
        self._loop = -1  # the outermost loop that ran last, and its start
        self._loop_stopwatch: Stopwatch | None = None

    def launch(self, stream: Stream) -> None:
        """Run every node in an order that respects all dependencies; loops repeat their bodies.

        Raise KernelFault when a kernel fails, and DeviceError when a loop is stopped; later nodes then don't run.
        """
        program = self._live()
        with self._lock, self._watchdog:
            self._run(program)

    def upload(self, stream: Stream) -> None:
        """Do nothing: an executable of the host is ready as soon as it exists."""
        self._live()

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node new arguments, a new launch or another function."""
        self._live().replace(node, KernelWork(kernel, config, arguments))

    def update_captured(self, node: GraphNode, capture: Capture) -> None:
        """Let a captured node make another library call."""
        self._live().recapture(node, capture)

    def update_copy(self, node: GraphNode, source: PinnedArray) -> None:
        """Let a copy node that reads a pinned array read another pinned array."""
        self._live().recopy(node, source)

    def move_fill(self, node: GraphNode, target: Memory) -> None:
        """Let a fill node fill other memory."""
        self._live().move_fill(node, target)

    def move_copy(self, node: GraphNode, target: Memory | PinnedArray, source: Memory | PinnedArray) -> None:
        """Let a copy node use other memory."""
        self._live().move_copy(node, target, source)

    def refresh(self, nodes: Iterable[GraphNode]) -> None:
        """Note that argument blocks have new values, which kernels read in place."""
        self._live().revalue(nodes)

    def destroy(self) -> None:
        """Release everything."""
        self._program = None
        self._conditions = ()

    def _live(self) -> GraphProgram:
        if self._program is None:
            raise DeviceError("host: executable must not be used after destroy")
        return self._program

    def _run(self, program: GraphProgram) -> None:
        index = 0
        program.begin()
        self._loop = self._state[stepper.LOOP] = -1
        while index < program.end:
            if not program.in_python[index]:
                index = self._run_natively(program, index)
                continue
            try:
                program.run_one(index)
            except KernelFault as fault:
                if self._watchdog.reason != RUNNING and self._state[stepper.LOOP] >= 0:
                    raise self._stopped() from fault
                fault.node = program.nodes[index]
                raise
            index += 1

    def _run_natively(self, program: GraphProgram, index: int) -> int:
        """Let native code run from an instruction on. Return the next instruction to run."""
        state = self._state
        pairs = program.refresh()
        state[stepper.BUDGET] = self._turns_at_once
        state[stepper.KERNELS] = 0
        state[stepper.SERVED_BEFORE] = self._services.served[0]
        state[stepper.SECTION_NS] = 0
        began_ns = time.perf_counter_ns()
        stopwatch = Stopwatch() if self._watchdog.limit_s is not None else None

        def run(worker: PoolWorker, team: int) -> int:
            self._services.begin(pairs)
            state[stepper.TEAM] = team
            return run_graph(*self._addresses, worker.address, index)

        has_sections = program.sections.is_any_on
        reason = program.pool.run_natively(run, program.shared_bytes, program.scratch_bytes, with_team=has_sections)
        at, took_ns = int(state[stepper.AT]), time.perf_counter_ns() - began_ns
        if reason == stepper.FAULT:
            raise self._error(program, at, pairs)
        if reason == stepper.LOOP_STOPPED:
            raise self._stopped()
        if has_sections:
            program.learn()
        if reason == stepper.CALLED:
            program.note_calls()
            self._services.finish()
            at += 1
        elif took_ns - int(state[stepper.SECTION_NS]) > WAKE_NS * int(state[stepper.KERNELS]) > 0:
            program.measure()
        if reason == stepper.PAUSE:
            self._pace(took_ns)
        self._check_time(stopwatch)
        return at

    def _pace(self, took_ns: int) -> None:
        if took_ns < _LEAST_NS:
            self._turns_at_once = min(2 * self._turns_at_once, _MOST_TURNS)
        elif took_ns > _MOST_NS:
            self._turns_at_once = max(self._turns_at_once // 2, 1)

    def _check_time(self, stopwatch: Stopwatch | None) -> None:
        """Stop a loop that exceeds the time limit of kernels. It began no earlier than this call of native code."""
        loop, limit_s = int(self._state[stepper.LOOP]), self._watchdog.limit_s
        if loop != self._loop:
            self._loop, self._loop_stopwatch = loop, stopwatch
        stopwatch = self._loop_stopwatch
        if loop >= 0 and limit_s is not None and stopwatch is not None and stopwatch.look() > limit_s:
            raise self._stopped(TIME_LIMIT)

    def _error(self, program: GraphProgram, index: int, pairs: np.ndarray[Any, Any]) -> DeviceError:
        """Return the error of a kernel that native code ran."""
        pool = program.pool
        worker = pool.worker_at(int(self._state[stepper.FAILED]))
        self._services.finish()
        is_stopped = int(worker.record[abi.FAULT_KIND]) & 0xFF == abi.STOPPED
        if is_stopped and self._state[stepper.LOOP] >= 0 and pool.stop_reason != TIME_LIMIT:
            return self._stopped()
        fault = program.launch(index).error(worker, pool, pairs)
        fault.node = program.nodes[index]
        return fault

    def _stopped(self, reason: int = RUNNING) -> DeviceError:
        reason = reason or self._watchdog.reason
        loop, turns = int(self._state[stepper.LOOP]), int(self._state[stepper.TURNS])
        return LoopStopped(loop, turns, self._watchdog.explain(reason), is_over_limit=reason == TIME_LIMIT)
