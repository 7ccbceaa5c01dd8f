"""Running of a program: native code as far as it goes, then Python, and so on to the end."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from engine.device.host.graph import stepper
from engine.device.host.graph.program import Program
from engine.device.host.launch import INLINE_NS
from engine.device.host.pool import PoolWorker
from engine.device.host.translate import abi
from engine.device.host.watchdog import CLOSED, INTERRUPTED, RUNNING, TIME_LIMIT, Watchdog
from engine.device.protocol import GraphNode, LoopStopped
from engine.diagnostics import KernelFault

#: Native code goes round loops for about so long before Python looks at the time and at better code for the kernels.
_LEAST_NS, _MOST_NS = 2_000_000, 8_000_000
_MOST_TURNS = 1 << 20


class Runner:
    """Runs one program, any number of times, one after the other."""

    def __init__(self, program: Program, watchdog: Watchdog) -> None:
        self.program = program
        self._watchdog = watchdog
        self._services = program.pool.services
        self._step = stepper.stepper()
        self._state = np.zeros(stepper.STATE_FIELDS, np.int64)
        self._state[stepper.STOP] = watchdog.address
        self._state[stepper.SERVED] = self._services.served.ctypes.data
        self._turns_at_once = 64
        self._worker: PoolWorker | None = None
        self._loop = -1  # the outermost loop that was seen last, and when that was first
        self._loop_since_ns = 0

    def run(self) -> None:
        """Run the program once; KernelFault or LoopStopped when it is ended."""
        program, place = self.program, 0
        self._loop = self._state[stepper.LOOP] = -1
        while place < program.end:
            if not program.by_hand[place]:
                place = self._stretch(place)
                continue
            try:
                program.do(place)
            except KernelFault as fault:
                if self._watchdog.reason != RUNNING and self._state[stepper.LOOP] >= 0:
                    raise self._stopped() from fault
                raise
            place += 1

    def _stretch(self, place: int) -> int:
        """Let native code run from a place on and return the place to go on from."""
        program, state = self.program, self._state
        pairs = program.refresh()
        state[stepper.BUDGET] = self._turns_at_once
        state[stepper.KERNELS] = 0
        state[stepper.SERVED_BEFORE] = self._services.served[0]
        began_ns = time.perf_counter_ns()

        def work(worker: PoolWorker) -> int:
            self._services.begin(pairs)
            worker.prepare(program.shared_bytes, program.scratch_bytes, 0)
            self._worker = worker
            return self._step(program.code.ctypes.data, state.ctypes.data, worker.address, place, 0)

        reason = program.pool.run_alone(work)
        at, took_ns = int(state[stepper.AT]), time.perf_counter_ns() - began_ns
        if reason == stepper.FAULT:
            self._raise(at, pairs)
        if reason == stepper.STOPPED:
            raise self._stopped()
        if reason == stepper.CALLED:
            program.has_called(at)
            self._services.finish()
            at += 1
        elif took_ns > INLINE_NS * int(state[stepper.KERNELS]) > 0:
            program.measure()
        if reason == stepper.PAUSE:
            self._pace(took_ns)
        self._check_time(began_ns)
        return at

    def _pace(self, took_ns: int) -> None:
        if took_ns < _LEAST_NS:
            self._turns_at_once = min(2 * self._turns_at_once, _MOST_TURNS)
        elif took_ns > _MOST_NS:
            self._turns_at_once = max(self._turns_at_once // 2, 1)

    def _check_time(self, began_ns: int) -> None:
        """End a loop that has run for longer than a kernel may; it began at the earliest when the last stretch did."""
        loop, limit_s = int(self._state[stepper.LOOP]), self._watchdog.limit_s
        if loop != self._loop:
            self._loop, self._loop_since_ns = loop, began_ns
        if loop >= 0 and limit_s is not None and time.perf_counter_ns() - self._loop_since_ns > limit_s * 1e9:
            raise self._stopped(TIME_LIMIT)

    def _raise(self, place: int, pairs: np.ndarray[Any, Any]) -> None:
        """Raise the error of a kernel that native code has run."""
        launch, worker, pool = self.program.launches[place], self._worker, self.program.pool
        assert worker is not None
        self._services.finish()
        is_stopped = int(worker.record[abi.FAULT_KIND]) & 0xFF == abi.STOPPED
        if is_stopped and self._state[stepper.LOOP] >= 0 and pool.stop_reason != TIME_LIMIT:
            raise self._stopped()
        raise launch.error(worker, pool, pairs)

    def _stopped(self, reason: int = RUNNING) -> LoopStopped:
        node, turns = GraphNode(int(self._state[stepper.LOOP])), int(self._state[stepper.TURNS])
        why = {
            TIME_LIMIT: f"by the time limit of {self._watchdog.limit_s} s",
            INTERRUPTED: "because that was asked for",
            CLOSED: "because the device was closed",
        }[reason or self._watchdog.reason]
        remedy = "; let its body set the condition to 0 sooner" if why.startswith("by") else ""
        return LoopStopped(f"host: WHILE of node {node} was stopped {why}, after {turns} turns{remedy}", node)
