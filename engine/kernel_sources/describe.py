"""Makes a manifest of a kernel file from its PTX, for a person to check."""

import math
import re
from collections.abc import Iterator

from warploom.engine.kernel_sources.element_types.names import (
    KNOWN_TYPES,
    DeclaredType,
    PointerElement,
    named_element,
    named_numbers,
    named_types,
    parameter_texts,
)
from warploom.engine.kernel_sources.element_types.struct_fields import record_of
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.manifest import KernelManifest, ManifestField, ManifestParameter
from warploom.engine.kernel_sources.sources import PythonKernel
from warploom.engine.ptx import KernelSignature, PtxModule, parse
from warploom.engine.ptx.tree import Function, type_size
from warploom.engine.ptx.uses import UNTYPED, Direction, KnownUses, parameter_uses
from warploom.engine.types import DType

#: The most threads of a thread block.
_MOST_THREADS = 1024


def describe_kernels(image: KernelImage) -> tuple[KernelManifest, ...]:
    """Return a manifest for each entry point; the PTX shows the direction of each pointer.

    `needs_review` is set when a direction, or whether a value is a pointer, is unknown. Names come from the CUDA C++
    source if there is one, otherwise from the PTX. A Python kernel has its own manifest.
    """
    if isinstance(image.source, PythonKernel) and image.manifests:
        return tuple(image.manifests.values())
    module, known = parse(image.ptx), KnownUses()
    return tuple(
        _describe(module.functions[name], module, signature, image, known)
        for name, signature in image.signatures.items()
    )


def mistakes(given: KernelManifest) -> Iterator[str]:
    """Yield the errors of a manifest that can be seen without its kernel, as "field must be X, got Y"."""
    for name in ("block_size", "req_threads"):
        threads = getattr(given, name)
        sizes = threads if isinstance(threads, list) else [threads]
        if threads is not None and (not 1 <= len(sizes) <= 3 or min(sizes) < 1 or math.prod(sizes) > _MOST_THREADS):
            yield f"{name} must be 1 to 3 whole numbers from 1 with a product of at most {_MOST_THREADS}, got {threads}"
    for name, least in (("max_threads", 1), ("shared_memory_static", 0), ("shared_memory_dynamic", 0)):
        number = getattr(given, name)
        if number is not None and number < least:
            yield f"{name} must be at least {least}, got {number}"
    for claim in given.parameters:
        if claim.alignment is not None and (claim.alignment < 1 or claim.alignment.bit_count() != 1):
            yield f"alignment of {claim.name} must be a power of two, got {claim.alignment}"
        if claim.element_type is not None and named_element(claim.element_type) is None:
            names = "the name of a scalar or vector, such as f32, float4 or unsigned char"
            yield f"element_type of {claim.name} must be {names}, got {claim.element_type!r:.80}"
        for each in claim.fields:
            if each.type not in KNOWN_TYPES:
                names = "the name of a scalar or vector, such as f32, float4 or unsigned char"
                yield f"type of field {each.name} of {claim.name} must be {names}, got {each.type!r:.80}"


def contradictions(given: KernelManifest, found: KernelManifest) -> Iterator[str]:
    """Yield the facts of a manifest that the kernel's PTX contradicts, as "field must be X, got Y".

    `describe_kernels` made `found` from the PTX. A manifest may add facts that PTX doesn't have, such as a lower limit
    of threads.
    """
    for name in ("req_threads", "shared_memory_static", "uses_dynamic_shared", "ptx_version", "target_sm"):
        claim, true = getattr(given, name), getattr(found, name)
        if None not in (claim, true) and str(claim) not in (str(true), str(true).removeprefix("sm_")):
            yield f"{name} must be {true}, got {claim}"
    if given.max_threads is not None and given.max_threads > (limit := found.max_threads or 0):
        yield f"max_threads must be at most {limit}, got {given.max_threads}"
    for claim, true in zip(sorted(given.parameters, key=lambda each: each.index), found.parameters, strict=True):
        refuted = {
            "ptx_type": claim.ptx_type and true.ptx_type and not _is_same_type(claim.ptx_type, true.ptx_type),
            # A pointer that the kernel never uses looks like a number. A number may be declared like a pointer.
            "is_pointer": (claim.is_pointer is False and true.is_pointer and true.direction != "unknown")
            or (claim.is_pointer and true.alignment != 8),
            # That of a pointer may be meant of what it points to.
            "alignment": not (claim.is_pointer or true.is_pointer)
            and None not in (claim.alignment, true.alignment)
            and claim.alignment != true.alignment,
            "element_type": claim.element_type and _is_too_small(claim.element_type, true.element_type or ""),
            "direction": true.is_pointer
            and claim.direction != "unknown"
            and not covers(claim.direction, true.direction),
        }
        for name in filter(refuted.get, refuted):
            yield f"{name} of {claim.name} must be {getattr(true, name)}, got {getattr(claim, name)}"


def covers(declared: Direction, actual: Direction) -> bool:
    """True when a parameter of the `declared` direction may be accessed in the `actual` one."""
    return _USES[actual] <= _USES[declared]


def _is_same_type(a: str, b: str) -> bool:
    return a == b or (type_size(a) == type_size(b) and not UNTYPED.isdisjoint((a, b)))


def _is_too_small(element: str, accessed: str) -> bool:
    """True when a kernel accesses floats larger than the elements; integers may be several elements at once."""
    known = named_element(element)
    return known is not None and accessed in ("f16", "f32", "f64") and type_size(accessed) > known.size_bytes


#: A kernel's accesses, by direction.
_USES: dict[Direction, frozenset[str]] = {
    "in": frozenset({"read"}),
    "out": frozenset({"write"}),
    "inout": frozenset({"read", "write"}),
    "unknown": frozenset(),
}


def _describe(
    kernel: Function, module: PtxModule, signature: KernelSignature, image: KernelImage, known: KnownUses
) -> KernelManifest:
    source = image.text
    uses = parameter_uses(kernel, module.functions, known, named_numbers(source, signature))
    declared = named_types(source, kernel.name, [each.size_bytes for each in signature.parameters]).types
    structs = [
        _fields(image, kernel.name, index) if value is None and signature.parameters[index].ptx_type == "b8" else []
        for index, value in enumerate(declared)
    ]
    names = source_parameter_names(source, kernel.name)
    if len(names) != len(kernel.parameters):
        names = [parameter.name for parameter in kernel.parameters]
    parameters = [
        ManifestParameter(
            index=index,
            name=name,
            ptx_type=typed.ptx_type,
            is_pointer=False if structs[index] else uses[parameter.name].is_pointer,
            alignment=parameter.alignment,
            element_type=_element_type(declared[index]) or uses[parameter.name].element_type,
            fields=structs[index],
            direction="in"
            if structs[index] or uses[parameter.name].is_pointer is False
            else uses[parameter.name].direction,
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
        ptx_version=".".join(map(str, module.version)),
        target_sm=module.target,
    )


def _fields(image: KernelImage, entry: str, index: int) -> list[ManifestField]:
    """Return the fields of a struct that is passed by value."""
    texts, parameters = parameter_texts(image.text, entry), image.signature(entry).parameters
    if parameters[index].size_bytes == 1:
        return []
    record = record_of(image, entry, index, texts[index] if len(texts) == len(parameters) else "")
    fields = record.fields if record is not None else ()
    return [ManifestField(name=each.name, type=str(each.dtype), offset=each.offset) for each in fields]


def _element_type(declared: DeclaredType) -> str | None:
    """Return the declared type of a pointer's elements, or of a vector."""
    if isinstance(declared, PointerElement) and declared.dtype is not None:
        return declared.dtype.__name__
    return declared.__name__ if isinstance(declared, DType) and declared.kind == "vector" else None


def source_parameter_names(source: str, entry: str) -> list[str]:
    """Return the names that CUDA C++ source gives a kernel's parameters, or [] when they cannot be found."""
    names = [re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", text) for text in parameter_texts(source, entry)]
    return [name[1] for name in names if name]
