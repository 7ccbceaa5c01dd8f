"""A kernel file, ready to load: its PTX, its CUBIN when there is one, and what its entry points take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.diagnostics import KernelError
from engine.kernel_sources.element_names import PointerElement
from engine.kernel_sources.manifest import KernelManifest
from engine.ptx.signature import KernelSignature


@dataclass(frozen=True)
class KernelImage:
    """What one kernel file became for one architecture.

    `signatures` maps entry points to their parameters; `log` holds the compiler's warnings; `dependencies` are the
    files that, when changed, change the image: the file itself first, then what it includes or its `.json`.
    """

    path: Path
    ptx: str
    cubin: bytes | None
    signatures: Mapping[str, KernelSignature]
    log: str
    dependencies: tuple[Path, ...]
    manifest: KernelManifest | None = None
    #: What `elements.pointer_elements` found, by entry point: found once for each load of the file.
    elements: dict[str, tuple[PointerElement | None, ...]] = field(default_factory=dict, compare=False, repr=False)

    def payload(self, architecture: str) -> str | bytes:
        """Return what `Device.load_module` takes on a device of this architecture: CUBIN if there is one, else PTX."""
        if self.cubin is not None and not architecture.startswith("compute_"):
            return self.cubin
        return self.ptx

    def signature(self, entry: str) -> KernelSignature:
        """Return one entry point's signature; KernelError that lists the entry points when it is not there."""
        if entry in self.signatures:
            return self.signatures[entry]
        mangled = any(name.startswith("_Z") for name in self.signatures)
        raise KernelError(
            f"entry point {entry} must be one of {', '.join(self.signatures)} in {self.path.name}"
            + ('; declare it extern "C" __global__ so that it keeps its name' if mangled else ""),
            file=str(self.path),
        )
