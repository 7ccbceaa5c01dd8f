"""A failed device as a person is told of it: what happened, and at which node when that is known."""

from __future__ import annotations

from engine.compiler.instantiate import CompiledGraph
from engine.diagnostics import DeviceError, Diagnostic, KernelFault, error


def fault_diagnostic(problem: DeviceError, compiled: CompiledGraph | None) -> Diagnostic:
    """Return the diagnostic of a device that failed while it ran `compiled`.

    It names the node when the device says which kernel failed and a single node of the graph uses that kernel; several
    of them are named in the message.
    """
    if not isinstance(problem, KernelFault):
        return error(str(problem), remedy="mend the patch, then start the engine again")
    used = compiled.kernels if compiled else []
    nodes = sorted({node.node for node in used if node.kernel.kernel.name == problem.kernel})
    message = str(problem) if len(nodes) < 2 else f"{problem}; it belongs to one of {', '.join(nodes)}"
    return error(
        message,
        node=nodes[0] if len(nodes) == 1 else None,
        remedy="mend the kernel or its inputs, then start the engine again",
        file=problem.source_file,
        line=problem.source_line,
    )
