"""Runs one block, or a small patch, for some frames."""

from typing import Any

from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Array

#: Measure the graph as a whole. To measure each block, a second graph is built, which is half of an engine's work here.
WHOLE = ProfilingLevel.SUMMARY


def run(patch: Patch, *ports: PortRef, frames: int = 1, device: Device | str = "host") -> list[Array]:
    """Return the contents of ports after some frames, and fail on any diagnostic."""
    with Engine(patch, device=device, profiling=WHOLE) as engine:
        for _ in range(frames):
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
        return [engine.read(port) for port in ports]


def apply(
    block: str, inputs: dict[str, Array], *, port: str = "out", device: Device | str = "host", **parameters: Any
) -> Array:
    """Return one output of a block whose inputs are arrays."""
    patch = Patch()
    node = patch.add(block, **parameters)
    for name, data in inputs.items():
        patch.connect(patch.add("io.array", data=data)["out"], node[name])
    return run(patch, node[port], device=device)[0]


def apply_each(
    *cases: tuple[str, dict[str, Array], dict[str, Any]], port: str = "out", device: Device | str = "host"
) -> list[Array]:
    """Return the same output of several blocks, each with its inputs and parameters, which one engine runs."""
    patch = Patch()
    nodes = []
    for block, inputs, parameters in cases:
        nodes.append(patch.add(block, **parameters))
        for name, data in inputs.items():
            patch.connect(patch.add("io.array", data=data)["out"], nodes[-1][name])
    return run(patch, *(node[port] for node in nodes), device=device)


def problems(patch: Patch, frames: int = 1) -> list[tuple[str | None, str | None, str]]:
    """Return node, port and text of the diagnostics after some frames."""
    with Engine(patch, device="host", profiling=WHOLE) as engine:
        for _ in range(frames):
            report = engine.step()
        return [(problem.node, problem.port, problem.message) for problem in report.diagnostics]


def refusal(block: str, inputs: dict[str, Array], **parameters: Any) -> str:
    """Return the first problem of a block with these inputs."""
    patch = Patch()
    node = patch.add(block, **parameters)
    for name, data in inputs.items():
        patch.connect(patch.add("io.array", data=data)["out"], node[name])
    return problems(patch)[0][2]
