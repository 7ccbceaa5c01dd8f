"""Rewrites the PTX of Python compilers so that its kernels are launched like any other, by name and parameters."""

import re
from collections.abc import Collection

from msgspec.structs import replace

from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.manifest import KernelManifest
from warploom.engine.kernel_sources.python.run_file import CompiledPython
from warploom.engine.kernel_sources.sources import PythonKernel
from warploom.engine.ptx import read_signatures

#: The most shared memory that a kernel may declare; a launch must pass a larger size.
MOST_STATIC_SHARED = 48 << 10


def renamed(ptx: str, old: str, new: str) -> str:
    """Return PTX in which an entry point, and the parameters named after it, have another name."""
    return re.sub(rf"(?<![\w$]){re.escape(old)}(?=$|_param_|[^\w$])", new, ptx)


def without_unused(ptx: str, entry: str, keep: Collection[int]) -> tuple[str, list[int]]:
    """Return PTX without the parameters that an entry point never reads, and the indices of the remaining ones.

    Parameters with an index in `keep` always remain.
    """
    head = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    if head is None:
        raise ValueError(f"entry point {entry} must be in the PTX")
    parameters = [item.strip() for item in head[1].split(",") if item.strip()]
    names = [item.split()[-1].partition("[")[0] for item in parameters]
    body = ptx[head.end() :]
    left = [
        index
        for index, name in enumerate(names)
        if index in keep or re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body)
    ]
    text = ",\n\t".join(parameters[index] for index in left)
    return f"{ptx[: head.start(1)]}\n\t{text}\n{ptx[head.end(1) :]}", left


def with_static_shared(ptx: str, name: str, size_bytes: int) -> str:
    """Return PTX that declares the shared memory `name` with a size; otherwise a launch would have to pass the size."""
    return re.sub(
        rf"\.extern(\s+\.shared\b[^;]*?\b{re.escape(name)})\s*\[\s*\]\s*;", rf".visible\1[{size_bytes}];", ptx
    )


def finished(source: PythonKernel, ptx: str, given: KernelManifest) -> CompiledPython:
    """Return a kernel with its manifest, which combines the compiler's facts, `given`, and those of the PTX."""
    signatures = read_signatures(ptx)
    (found,) = describe_kernels(KernelImage(source, ptx, None, signatures))
    parameters = [
        replace(
            seen,
            name=known.name,
            is_pointer=known.is_pointer,
            element_type=known.element_type or (seen.element_type if known.is_pointer else None),
            direction=seen.direction if known.is_pointer else "in",
            semantic=known.semantic,
        )
        for known, seen in zip(given.parameters, found.parameters, strict=True)
    ]
    manifest = replace(
        found,
        parameters=parameters,
        block_size=given.block_size,
        shared_memory_dynamic=given.shared_memory_dynamic,
        constants=given.constants,
        needs_review=any(parameter.direction == "unknown" for parameter in parameters),
    )
    return CompiledPython(ptx, signatures[source.name], manifest)
