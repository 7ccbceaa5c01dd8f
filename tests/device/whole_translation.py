"""A host device that compiles quickly what is translated for the optimiser, for tests of the translator.

Optimised code shows the same errors of the translator, but takes nine times as long to compile.
"""

from pathlib import Path
from unittest.mock import patch

from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache
from warploom.engine.device.host.modules.module import HostModule
from warploom.engine.device.protocol import BestCode
from warploom.engine.host_compiler import kernel, module
from warploom.engine.host_compiler.analysis.control_flow import control_flow, loops
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.passes.launch_versions import LaunchVersion, LaunchVersions
from warploom.engine.ptx.tree import Function


class WholeTranslationHost(HostDevice):
    """A host device whose quick code has phases, chains and hoisted checks, as optimised code has.

    It has a cache of its own, in `folder`. Kernels without loops and waiting threads are translated as in quick code.
    """

    def __init__(self, folder: Path, *, quick_first: bool) -> None:
        super().__init__(cores=2, quick_first=quick_first)
        self._folder = folder

    def load_module(self, image: str | bytes, *, best: BestCode | None = None) -> HostModule:
        with patch.object(build, "translate", translate), patch.object(cache, "folder", lambda: self._folder):
            return super().load_module(image, best=best)


def translate(ptx: str, processor: tuple[str, str]) -> cache.CachedModule:
    """Do what `build.translate` does, in a worker process."""
    with (
        patch.object(module, "translate_kernel", _translate_kernel),
        patch.object(kernel, "for_small_thread_blocks", lambda _: None),
        patch.object(kernel, "for_launches", lambda only, *_: LaunchVersions([LaunchVersion(only)], {}, [{}])),
    ):
        return _translate(ptx, processor)


_translate, _kernel = build.translate, kernel.translate_kernel


def _translate_kernel(*arguments: object, quickly: bool, **facts: object) -> object:
    found, signature = arguments[:2]
    function = found.functions[signature.name]  # type: ignore[attr-defined]  # a PtxModule, and a KernelSignature
    return _kernel(*arguments, quickly=quickly and _is_straight(function), **facts)  # type: ignore[arg-type]  # as given


def _is_straight(function: Function) -> bool:
    flow = control_flow(function, is_suspension_point)
    return not (
        loops(flow)
        or any(block.suspends for block in flow.blocks)
        or any(item.opcode == "call" for item in function.instructions)
        or any(variable.space == "local" for variable in function.variables)
    )
