"""Kernels whose threads wait for each other."""

from __future__ import annotations

from engine.device.host.translate.body import Layout
from engine.device.host.translate.flow import Flow
from engine.ptx.tree import Function, Instruction


def suspends(instruction: Instruction) -> bool:
    return False


def translate(kernel: Function, layout: Layout, callees: dict[str, Function], flow: Flow) -> tuple[str, int]:
    raise NotImplementedError
