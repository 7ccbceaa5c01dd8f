"""A patch as one Python file that runs its graph on a GPU without Warploom."""

import base64
import zlib
from functools import cache
from pathlib import Path

import msgspec

from warploom.engine.descriptions.entries import Kernel
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.graph_data import GraphData, graph_data, needs_of_warploom
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.runtime.check.check_patch import has_errors, plan_with_values
from warploom.engine.runtime.model.module_cache import ModuleCache

_RUNNER = Path(__file__).with_name("runner.py")
_PLACE = 'DATA = ""\n'


def exported_graph(patch: Patch, architecture: str = HOST_ARCHITECTURE) -> GraphData:
    """Return the graph of a patch, with kernels for a GPU of an architecture such as "sm_90".

    Raise PatchError if the patch has errors, or names the blocks that need Warploom.
    """
    plan, found, values = plan_with_values(patch)
    why = _drives(patch) | (needs_of_warploom(plan) if plan is not None else {})
    if why:
        listed = "; ".join(f"{node} {reason}" for node, reason in sorted(why.items()))
        raise PatchError(f"patch must run without Warploom to become such a program, but {listed}")
    if plan is None or not plan.operations or has_errors(found):
        raise PatchError("; ".join(map(str, found)) or "patch must have a block to become a program, got none")

    @cache
    def image(kernel: Kernel, folders: tuple[str, ...]) -> KernelImage:
        return load_image(ModuleCache.find(kernel, folders), architecture)

    timeline = patch.timeline
    step_s = 1 / 60 if timeline is None else 1 / timeline.rate
    made = GraphData(architecture, step_s, 60 if timeline is None else timeline.end + 1)
    return graph_data(plan, values, image, made)


def standalone_script(graph: GraphData) -> str:
    """Return the text of a Python file that runs a graph; it needs cuda-python and numpy."""
    data = base64.b85encode(zlib.compress(msgspec.json.encode(graph), 9)).decode()
    before, after = _RUNNER.read_text("utf-8").split(_PLACE)
    return f'{before}DATA = r"{data}"\n{after}'


def _drives(patch: Patch) -> dict[str, str]:
    """Return the parameters that an engine sets in each frame, each with the reason."""
    running = patch.running()
    driven = [c for c in running.connections if running.is_value_connection(c)]
    animated = [PortRef(node.id, name) for node in running.nodes.values() for name in node.curves]
    return {str(port): "has keys" for port in animated} | {str(c.target): f"follows {c.source}" for c in driven}
