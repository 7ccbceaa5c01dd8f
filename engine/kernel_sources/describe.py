"""Writes down what can be told of a kernel file by reading it: the manifest that a person then only has to check."""

from __future__ import annotations

import re

from engine.kernel_sources.access import parameter_uses
from engine.kernel_sources.files import read_source
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.manifest import KernelManifest, ManifestParameter
from engine.ptx import Function, KernelSignature, parse


def describe_kernels(image: KernelImage) -> tuple[KernelManifest, ...]:
    """Return a manifest for each entry point, with the direction of each pointer found from the PTX.

    `needs_review` is set where a direction, or whether a value is a pointer, could not be told. Names come from the
    source where it is CUDA C++, else from the PTX.
    """
    module = parse(image.ptx)
    source = read_source(image.path) if image.path.suffix == ".cu" else ""
    version = ".".join(map(str, module.version))
    return tuple(
        _describe(module.functions[name], signature, source, version, module.target)
        for name, signature in image.signatures.items()
    )


def _describe(
    kernel: Function, signature: KernelSignature, source: str, ptx_version: str, target: str
) -> KernelManifest:
    uses = parameter_uses(kernel)
    names = source_parameter_names(source, kernel.name)
    if len(names) != len(kernel.parameters):
        names = [parameter.name for parameter in kernel.parameters]
    parameters = [
        ManifestParameter(
            index=index,
            name=name,
            ptx_type=typed.ptx_type,
            is_pointer=uses[parameter.name].is_pointer,
            alignment=parameter.alignment,
            element_type=uses[parameter.name].element_type,
            direction=uses[parameter.name].direction if uses[parameter.name].is_pointer is not False else "in",
        )
        for index, (name, parameter, typed) in enumerate(
            zip(names, kernel.parameters, signature.parameters, strict=True)
        )
    ]
    return KernelManifest(
        name=kernel.name,
        parameters=parameters,
        max_threads=signature.max_threads,
        req_threads=list(signature.required_threads) if signature.required_threads else None,
        shared_memory_static=signature.shared_bytes,
        uses_dynamic_shared=signature.uses_dynamic_shared,
        generated=True,
        needs_review=any(parameter.direction == "unknown" for parameter in parameters),
        ptx_version=ptx_version,
        target_sm=target,
    )


def source_parameter_names(source: str, entry: str) -> list[str]:
    """Return the names that CUDA C++ source gives a kernel's parameters, or [] when they cannot be found.

    PTX only numbers them. It is a search, not a parse: a caller must check that the count is right.
    """
    source = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    found = re.search(rf"__global__[^;{{}}]*?\b{re.escape(entry)}\s*\(([^)]*)\)\s*\{{", source)
    if not found or not found[1].strip():
        return []
    names = [re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", parameter) for parameter in found[1].split(",")]
    return [name[1] for name in names if name]
