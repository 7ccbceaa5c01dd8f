"""`KernelImage`, a kernel source ready to load."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom.engine.device.protocol import BestCode
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.device_part.take import Taken
from warploom.engine.kernel_sources.element_types.names import DeclaredType
from warploom.engine.kernel_sources.manifest import KernelManifest
from warploom.engine.kernel_sources.sources import KernelSource
from warploom.engine.kernel_sources.texts import SHIPPED_FOLDER
from warploom.engine.ptx.tree import KernelSignature
from warploom.engine.ptx.uses import KernelUses
from warploom.engine.readings import Reading

#: The kernels that come with Warploom.
KERNELS_FOLDER = SHIPPED_FOLDER
#: The headers that are made for kernels of other people too.
HEADERS_FOLDER = KERNELS_FOLDER / "warploom"


@dataclass(frozen=True)
class KernelImage:
    """A kernel source compiled for one architecture.

    `signatures` maps entry points to their parameters. `reading` has the contents of the files that the image was made
    from, such as includes and manifests, and of all files that were looked for. `manifests` are by entry point. `text`
    is the compiled CUDA C++, "" for other kinds of source. The threads of `is_free` kernels don't depend on each other,
    so any thread block works. `uses` has, by entry point, the accesses of CUDA C++ and `.ptx` kernels through their
    parameters.
    """

    source: KernelSource
    ptx: str
    cubin: bytes | None
    signatures: Mapping[str, KernelSignature]
    manifests: Mapping[str, KernelManifest] = field(default_factory=dict)
    text: str = field(default="", repr=False)
    #: What was taken of a program with host functions; None for other sources.
    part: Taken | None = None
    is_free: bool = False
    reading: Reading = field(default_factory=Reading, compare=False, repr=False)
    uses: Mapping[str, KernelUses] = field(default_factory=dict, repr=False)
    #: The code that `Device.load_module` optimises in place of `ptx`; None when there is none.
    best: BestCode | None = field(default=None, compare=False, repr=False)
    #: The results of `elements.declared_types` by entry point.
    declared: dict[str, tuple[DeclaredType, ...]] = field(default_factory=dict, compare=False, repr=False)

    def payload(self, architecture: str) -> str | bytes:
        """Return the argument for `Device.load_module` on a device of this architecture: CUBIN if there is one, else
        PTX.
        """
        if self.cubin is not None and not architecture.startswith("compute_"):
            return self.cubin
        return self.ptx

    def signature(self, entry: str) -> KernelSignature:
        """Return one entry point's signature. For a missing one, raise KernelError with the existing entry points."""
        if entry in self.signatures:
            return self.signatures[entry]
        mangled = any(name.startswith("_Z") for name in self.signatures)
        raise KernelError(
            f"entry point {entry} must be one of {', '.join(self.signatures)} in {self.source.label}"
            + ('; declare it extern "C" __global__ so that it keeps its name' if mangled else ""),
            file=self.source.file,
        )
