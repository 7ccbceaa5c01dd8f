"""What the pointers of a kernel point to, and whether that fits the elements of the buffers they are given.

PTX does not say: there every pointer is an address. A `.cu` says it in its declarations, a `.ptx` in its manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.kernel_sources.compile_cache import CompileCache
from engine.kernel_sources.element_names import NamedElements, PointerElement, named_element, named_elements
from engine.kernel_sources.element_probe import Sized, probe_elements
from engine.kernel_sources.files import read_source
from engine.kernel_sources.image import KernelImage
from engine.types import DType, layout_text


@dataclass(frozen=True)
class ElementMismatch:
    """A buffer whose elements are not as large as the struct that the kernel takes them for.

    `expected` and `found` are layouts as text; `message` and `remedy` are for the diagnostic at `port`.
    """

    port: str
    expected: str
    found: str
    message: str
    remedy: str


def pointer_elements(
    image: KernelImage, entry: str, cache: CompileCache | None = None
) -> tuple[PointerElement | None, ...]:
    """Return for each parameter of an entry point what it points to; None where that is nothing or cannot be told.

    It is found once for each image. KernelError when the image has no such entry point.
    """
    if entry not in image.elements:
        image.signature(entry)  # KernelError when it is not there
        image.elements.update(_find(image, cache or CompileCache()))
    return image.elements[entry]


def check_elements(
    arguments: Sequence[tuple[str, DType] | None], elements: Sequence[PointerElement | None], kernel: str
) -> list[ElementMismatch]:
    """Return the buffers whose elements are not of the size of the struct that the kernel has at their place.

    `arguments` gives for each argument of a launch its port and element type, None when it is no buffer; `elements` is
    what `pointer_elements` found for `kernel`, whose name is for the message. Scalars that together fill such a struct
    are right: a kernel may read records from them. So is a struct that a kernel reads as numbers.
    """
    mismatches = []
    for argument, element in zip(arguments, elements, strict=False):
        if argument is None or element is None or not element.is_struct:
            continue
        port, dtype = argument
        size = dtype.size_bytes
        if size in (0, element.size_bytes):  # any_type has size 0
            continue
        if dtype.kind not in ("struct", "vector") and element.size_bytes % size == 0:
            continue
        expected = f"{element.name}: {element.size_bytes} bytes"
        found = layout_text(dtype)
        mismatches.append(
            ElementMismatch(
                port,
                expected,
                found,
                f"elements of {port} must be of the size that kernel {kernel} gives {expected}, got {found}",
                "give the struct the same fields in the block and in the kernel (`declaration` writes the kernel's)",
            )
        )
    return mismatches


def _find(image: KernelImage, cache: CompileCache) -> dict[str, tuple[PointerElement | None, ...]]:
    if image.path.suffix != ".cu":
        return {name: _by_manifest(image, name, len(item.parameters)) for name, item in image.signatures.items()}
    source = read_source(image.path)
    named = {
        name: named_elements(source, name, [parameter.size_bytes for parameter in item.parameters])
        for name, item in image.signatures.items()
    }
    untold = [name for name, elements in named.items() if elements.untold]
    probed = probe_elements(source, image.path, image.ptx, untold, cache) if untold else {}
    return {name: _complete(elements, probed.get(name)) for name, elements in named.items()}


def _complete(named: NamedElements, probed: Sized | None) -> tuple[PointerElement | None, ...]:
    """Return what names tell, with what the compiler found where they don't."""
    found = list(named.elements)
    for index in named.untold:
        known, size = found[index], probed[index] if probed is not None else None
        name = known.name if known is not None else f"parameter {index}"
        found[index] = PointerElement(size[0], name, size[1]) if size is not None else None
    return tuple(found)


def _by_manifest(image: KernelImage, entry: str, count: int) -> tuple[PointerElement | None, ...]:
    elements: list[PointerElement | None] = [None] * count
    if image.manifest is not None and image.manifest.name == entry:
        for parameter in image.manifest.parameters:
            if parameter.is_pointer is not False and parameter.element_type is not None:
                elements[parameter.index] = named_element(parameter.element_type)
    return tuple(elements)
