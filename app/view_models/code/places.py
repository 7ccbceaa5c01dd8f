"""Where the code of a block lies: in files, and in parameters of its node."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from warploom.app.view_models.block_help import kernel_files
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.found_files import found_file
from warploom.engine.catalogue.block_files import FOLDER_NAME, find_definition
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.compiling import find_includes
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER

#: Folders whose files come with Warploom.
_SHIPPED = (KERNELS_FOLDER, KERNELS_FOLDER.parent / "blocks", EXAMPLES_FOLDER)
#: The languages of files by suffix.
_LANGUAGES = {
    **dict.fromkeys((".cu", ".cuh", ".h", ".hpp"), "cuda"),
    ".ptx": "ptx",
    ".py": "python",
    ".json": "json",
}


class CodePlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, or a parameter of a node whose text is code."""

    file: str = ""
    node: str = ""
    parameter: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)

    def name(self, patch: Patch | None) -> str:
        """Return the place's name in lists."""
        if self.file:
            return self.path.name
        known = patch is not None and self.node in patch.nodes
        return f"{patch.title(self.node) if patch is not None and known else self.node} › {self.parameter}"

    def language(self, patch: Patch | None) -> str:
        """Return the language of the code: "cuda", "python", "ptx", "json", "expression" or ""."""
        if self.file:
            return _LANGUAGES.get(self.path.suffix, "")
        block_type = patch.block_type(self.node) if patch is not None and self.node in patch.nodes else None
        spec = block_type.parameters.get(self.parameter) if block_type is not None else None
        return spec.language if spec is not None else ""

    @property
    def is_shipped(self) -> bool:
        """True for a file of Warploom's own library."""
        return bool(self.file) and any(map(self.path.is_relative_to, _SHIPPED))

    @property
    def is_read_only(self) -> bool:
        """True for a file that a person can't change here."""
        return self.is_shipped or (self.path.exists() and not os.access(self.path, os.W_OK) if self.file else False)


def places_of(patch: Patch, node: str) -> list[CodePlace]:
    """Return where the code of a node lies: code in parameters, kernel files, the block's file, included headers."""
    if node not in patch.nodes:
        return []
    block_type = patch.block_type(node)
    found: list[CodePlace] = []
    if block_type is not None:
        written = [spec.name for spec in block_type.parameters.values() if spec.language not in ("", "curve")]
        found += [CodePlace(node=node, parameter=name) for name in written]
    files = dict.fromkeys(_files(patch, node, block_type))
    for path in tuple(files):
        files.update(dict.fromkeys(headers_of(path)))
    return [*found, *(CodePlace(str(path)) for path in files)]


def _files(patch: Patch, node: str, block_type: type[Block] | None) -> Iterator[Path]:
    if block_type is None:
        type_id = patch.nodes[node].type
        problem = block_types.problem(type_id)
        known = Path(problem.file) if problem is not None and problem.file else None
        if (file := known or find_definition(type_id, patch.folder / FOLDER_NAME)) is not None:
            yield file
        return
    for spec in block_type.parameters.values():
        if spec.files == "open kernel" and (value := patch.value(node, spec.name)):
            yield found_file(patch.folder, value)
    yield from kernel_files(block_type)
    own = block_type.source_file()
    is_wrapper = block_type.is_adaptive and is_ours(block_type)  # its own file says nothing about the node's kernel
    if own is not None and own.is_file() and not is_wrapper:
        yield own


def headers_of(path: Path) -> list[Path]:
    """Return the headers that a file of CUDA C++ includes, directly and indirectly, but none of the toolkit's."""
    if _LANGUAGES.get(path.suffix) != "cuda":
        return []
    try:
        return list(find_includes(read_source(path), path, [path.parent, KERNELS_FOLDER]).files)
    except KernelError:
        return []


def read_code(place: CodePlace, patch: Patch | None) -> str | None:
    """Return the text at a place; None when the file, or the node, is gone or holds no text."""
    if not place.file:
        known = patch is not None and place.node in patch.nodes
        return str(patch.value(place.node, place.parameter)) if patch is not None and known else None
    try:
        return read_source(place.path)
    except KernelError:
        return None
