"""`warploom blocks`, `warploom devices` and `warploom kernel`: lists as text or JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from rich.markup import escape

from warploom.app.console import heading, make_console, make_table
from warploom.app.view_models.block_help import paragraphs
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.checks import shown
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.open import list_devices
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.device_part.take import Taken
from warploom.engine.kernel_sources.element_types.declared import declared_types
from warploom.engine.kernel_sources.element_types.names import DeclaredType, Record
from warploom.engine.kernel_sources.loader import file_source, load_image
from warploom.engine.kernel_sources.manifest import ManifestParameter, manifest_paths, write_manifest
from warploom.engine.kernel_sources.python.files import kernels_in
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.types import DType


def block_info(block: type[Block]) -> dict[str, Any]:
    """Return a block type's declaration as plain data."""
    return {
        "id": block.id,
        "version": block.version,
        "title": block.title,
        "category": block.category,
        "summary": block.summary,
        "help": block.__doc__ or "",
        "tags": list(block.tags),
        "ports": [
            {
                "name": p.name,
                "direction": p.direction,
                "dtype": str(p.dtype),
                "shape": p.shape if not p.is_input else None,
                "optional": p.optional,
                "doc": p.doc,
            }
            for p in block.ports.values()
        ]
        + [
            {"name": v.name, "direction": "out", "dtype": v.type, "shape": "value", "optional": False, "doc": v.doc}
            for v in block.value_outputs()
        ],
        "parameters": [
            {
                "name": p.name,
                "type": p.type,
                "default": _default(p),
                "min": p.minimum,
                "max": p.maximum,
                "unit": p.unit,
                "choices": list(p.choices),
                "update_level": _update_level(block, p),
                "doc": p.doc,
            }
            for p in block.parameters.values()
        ],
    }


def _update_level(block: type[Block], spec: ParameterSpec) -> str:
    if block.is_value:
        return "NONE"  # value blocks are computed in every frame anyway
    return "COLD" if spec.structural else "HOT"


def _default(spec: ParameterSpec) -> Any:
    """Return a parameter's default for JSON; None for the user's own memory."""
    match spec.type:
        case "array":
            return spec.default.tolist()
        case "external":
            return None
    return spec.default


#: Short texts for defaults that are too long for a table, by the parameter's type.
_LONG = {"array": "array", "external": "array", "object": "JSON"}


def list_blocks(reported: dict[str, Any], name: str | None, as_json: bool) -> None:
    """Print the catalogue, one block type by its id, or those that the editor's search finds, best first.

    With `as_json`, put them into `reported`. Raise PatchError if there is no such id and the search finds nothing.
    """
    catalogue = default_catalogue()
    found = catalogue.search(name) if name is not None and catalogue.get(name) is None else []
    if name is not None and not found and catalogue.get(name) is None and "." not in name:
        raise PatchError(
            f"words must be in a block's title, tags or help, got {shown(name)}; `warploom blocks` lists all "
            "blocks, and kernel.expression, kernel.cuda and value.expression compute what you write"
        )
    if name is not None and not found:
        info = block_info(catalogue.require(name))
        reported.update(info) if as_json else _print_block(info)
        return
    infos = [block_info(block) for block in found or catalogue.all()]
    if as_json:
        reported["blocks"] = infos
        return
    table = make_table("block", "category", "what it does")
    for info in infos:
        table.add_row(info["id"], info["category"], without_marks(info["summary"]))
    make_console().print(table)


def _print_block(info: dict[str, Any]) -> None:
    console = make_console()
    console.print(heading(info["title"], f"{info['id']}  version {info['version']}"))
    console.print("\n\n".join(map(without_marks, paragraphs(info["help"]))))
    ports = make_table("port", "", "elements", "shape", "")
    for port in info["ports"]:
        ports.add_row(port["name"], port["direction"], port["dtype"], port["shape"] or "", without_marks(port["doc"]))
    parameters = make_table("parameter", "type", "default", "range", "")
    for p in info["parameters"]:
        span = f"{p['min']:g} to {p['max']:g}" if p["min"] is not None and p["max"] is not None else ""
        span = span or ", ".join(map(str, p["choices"]))
        default = _LONG.get(p["type"]) or f"{p['default']} {p['unit']}".strip()
        parameters.add_row(p["name"], p["type"], default, span, without_marks(p["doc"]))
    for table in (ports, parameters):
        if table.row_count:
            console.print()
            console.print(table)


def show_devices(reported: dict[str, Any], as_json: bool) -> None:
    """Print this machine's devices, with the reason why one can't be used; with `as_json`, put them into `reported`."""
    statuses = list_devices()
    if as_json:
        reported["devices"] = msgspec.to_builtins(statuses)
        return
    table = make_table("device", "what", "usable", "memory", "cores")
    for status in statuses:
        memory = f"{status.memory_bytes / 2**30:.1f} GB" if status.memory_bytes else ""
        usable = "yes" if status.usable else f"no: {status.reason}"
        table.add_row(status.name, status.title, usable, memory, str(status.cores or ""))
    make_console().print(table)


def _type_of(parameter: ManifestParameter, declared: DeclaredType, size_bytes: int) -> str:
    """Return the type of a parameter as its block has it; the code's, if the source has none."""
    if isinstance(declared, Record) or (declared is None and parameter.ptx_type == "b8" and size_bytes > 1):
        return f"struct of {size_bytes} bytes"
    return str(declared) if isinstance(declared, DType) else parameter.ptx_type or ""


def _of_program(part: Taken) -> Iterator[str]:
    """Yield a line each for the variables, the templates and the host code of a program's file."""
    if part.variables:
        yield f"parameters that are variables of the file: {', '.join(part.variables)}"
    for what, found in (("templates without arguments", part.missing), ("left out, as host code", part.skipped)):
        if named := [f"{name or 'a declaration'} ({line})" for line, name in found]:
            yield f"{what}: {', '.join(named)}"


def show_kernel(file: Path, write_json: bool) -> None:
    """Print a kernel file's entry points; with `write_json`, describe them beside it in NAME.json.

    For several entry points, each gets its own NAME.ENTRY.json.
    """
    trusted_folders.add(file.resolve().parent)  # a person who names a file here may run it by other means too
    entries = (list(kernels_in(read_source(file), file)) if file.suffix == ".py" else []) or [""]
    images = [load_image(file_source(file.resolve(), entry), HOST_ARCHITECTURE) for entry in entries]
    described = [(manifest, image) for image in images for manifest in describe_kernels(image)]
    manifests = [manifest for manifest, _ in described]
    console = make_console()
    labels = {entry: label for image in images if image.part for entry, label in image.part.labels.items()}
    for manifest, image in described:
        name = f"{labels[manifest.name]}  entry {manifest.name}" if manifest.name in labels else manifest.name
        console.print(heading(name, f"at most {manifest.max_threads} threads"), soft_wrap=True)
        table = make_table("", "parameter", "type", "elements", "direction")
        taken = image.signature(manifest.name).parameters
        for p, declared in zip(manifest.parameters, declared_types(image, manifest.name), strict=False):
            fields = ", ".join(f"{each.name}: {each.type}" for each in p.fields)
            kind = _type_of(p, declared, taken[p.index].size_bytes)
            table.add_row(str(p.index), p.name, kind, p.element_type or fields, p.direction)
        console.print(table)
    for part in filter(None, (image.part for image in images)):
        for line in _of_program(part):
            console.print(escape(line), soft_wrap=True)
    if write_json:
        targets = manifest_paths(file, [manifest.name for manifest in manifests])
        for manifest, target in zip(manifests, targets[-len(manifests) :], strict=True):
            write_manifest(target, manifest)
            console.print(f"wrote {target}", soft_wrap=True)
