"""New files of code: blocks and kernels from templates, own copies of blocks; each becomes a node of the patch."""

import ast
import json
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.engine.blocktypes.block import Block
from warploom.engine.diagnostics import KernelError, PatchError
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import SUFFIXES, find_kernel
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.patch.beside.file_paths import relative_to
from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch, write_atomically
from warploom.engine.patch.regions import TOP

#: The first part of the ids of a person's own blocks.
_PREFIX = "my"
_KERNEL_BLOCK = '''from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class {class_name}(Block, id="{type_id}", title="{title}"):
    """Multiplies each element by a gain."""

    x: In[f32] = port(doc="Values, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="gain * x.")
    gain: float = param(2.0, min=0, max=4, doc="Factor of x.")

    kernel = Kernel("{name}.cu", entry="{name}")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for each element."""
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.out, self.gain, self.out.size))
'''
_KERNEL = """// Multiplies each element by a gain.
extern "C" __global__ void {name}(
    const float* __restrict__ x,  // values
    float* __restrict__ out,      // gain * x
    float gain,                   // [0, 4] = 2, factor of x
    int count)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = gain * x[i];
}}
"""
_PICTURE_BLOCK = '''from warploom.api import Block, BlockBuilder, Kernel, Out, float4, param, port


class {class_name}(Block, id="{type_id}", title="{title}"):
    """Paints a picture of rings."""

    out: Out[float4] = port(shape="[height, width]", doc="Linear RGBA.")
    rings: float = param(12.0, min=1, max=100, doc="Number of rings.")
    width: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Height of the picture.")

    kernel = Kernel("{name}.cu", entry="{name}")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for each pixel."""
        size = self.out.dim(1), self.out.dim(0)
        build.launch(self.kernel, num_threads=size, args=(self.out, self.rings, *size))
'''
_PICTURE = """// Paints a picture of rings.
extern "C" __global__ void {name}(
    float4* __restrict__ out,  // linear RGBA
    float rings,               // [1, 100] = 12, number of rings
    int width,
    int height)
{{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
    const float light = 0.5f + 0.5f * cosf(6.2831853f * rings * sqrtf(u * u + v * v));
    out[y * width + x] = make_float4(light, 0.5f * light, 1.0f - light, 1.0f);
}}
"""
_FORMULA_BLOCK = '''from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, param, port


class {class_name}(Block, id="{type_id}", title="{title}"):
    """Computes each element by a formula, which fuses with its neighbours."""

    x: In[f32] = port(doc="Values, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="The results.")
    gain: float = param(2.0, min=0, max=4, doc="Factor of x.")

    graph = OpGraphSource.of_expression("x * gain", x=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Compute every element of the output."""
        build.compute(self.graph, over=self.out)
'''
_VALUE_BLOCK = '''from warploom.api import Moment, Value, ValueBlock, param, value_port


class {class_name}(ValueBlock, id="{type_id}", title="{title}"):
    """Ticks at an even pace: a value that can drive parameters."""

    tick: Value[bool] = value_port(doc="True in the first frame of a beat.")
    beats: Value[int] = value_port(doc="Number of beats so far.")
    tempo: float = param(120.0, min=1, max=1000, unit="1/min", doc="Beats per minute.")

    passed: float = 0.0  # in beats

    def start(self) -> None:
        """Begin at the first beat."""
        self.passed, self.beats = 0.0, 0

    def update(self, now: Moment) -> None:
        """Compute the values of one frame, before the graph runs."""
        self.passed += self.elapsed_s(now) * self.tempo / 60
        self.tick = int(self.passed) > self.beats
        self.beats = int(self.passed)
'''
#: The kinds of new blocks, by what a person calls them: the block's file, and its kernel, if it has one.
KINDS: dict[str, tuple[str, str]] = {
    "Kernel in CUDA C++": (_KERNEL_BLOCK, _KERNEL),
    "Picture in CUDA C++": (_PICTURE_BLOCK, _PICTURE),
    "Formula": (_FORMULA_BLOCK, ""),
    "Value": (_VALUE_BLOCK, ""),
}


@dataclass(frozen=True)
class Made:
    """The files that were made, the first one to show first, and the id of the block type in them, if any."""

    files: tuple[Path, ...]
    type_id: str = ""


def name_of(title: str) -> str:
    """Return a title as a name for a file, a kernel and an id. Raise PatchError when it has no letters."""
    name = re.sub(r"\W+", "_", title.strip().lower(), flags=re.ASCII).strip("_")
    if not name or not name[0].isalpha():
        raise PatchError(f"name must begin with a letter, got {title!r}")
    return f"{name}_" if keyword.iskeyword(name) else name


def write_kernel(folder: Path, title: str, kind: str = "Kernel in CUDA C++") -> Made:
    """Write a new kernel file that runs. Raise OSError when it can't be written."""
    name = _free(folder, name_of(title), (".cu",))
    return Made(_write({folder / f"{name}.cu": KINDS[kind][1].format(name=name)}))


def write_block(folder: Path, title: str, kind: str) -> Made:
    """Write a new block file, with its kernel, that runs. Raise OSError when it can't be written."""
    name = _free(folder, name_of(title))
    block, kernel = KINDS[kind]
    words = {"name": name, "class_name": _class_name(name), "type_id": f"{_PREFIX}.{name}"}
    files = {folder / f"{name}.cu": kernel.format(**words)} if kernel else {}
    title = title.strip().replace("\\", "").replace('"', "'")
    return Made(_write({**files, folder / f"{name}.py": block.format(title=title, **words)}), words["type_id"])


def write_copy(block_type: type[Block], folder: Path) -> Made:
    """Write an own copy of a block type's file, and of the kernel files in it.

    Raise PatchError when it has no file to copy, and OSError when the copy can't be written.
    """
    source = block_type.source_file()
    if source is None:
        raise PatchError(f"block {block_type.id} must be defined in a file to be copied, got none")
    text = source.read_text(encoding="utf-8")
    title = block_type.title if block_type.title.startswith("My ") else f"My {block_type.title}"
    name = _free(folder, name_of(block_type.id.rpartition(".")[2]))
    type_id = f"{_PREFIX}.{name}"
    tree = ast.parse(text)
    owner = next((part for part in ast.walk(tree) if _defines(part, block_type.id)), None)
    if not isinstance(owner, ast.ClassDef):
        raise PatchError(f"{source.name} must have a class statement with id={block_type.id!r} to be copied")
    changes = dict[ast.expr, str]()
    added = {"title": title, "category": block_type.category}
    for word in owner.keywords:
        if word.arg == "id":
            known = {other.arg for other in owner.keywords}
            more = "".join(f', {key}="{value}"' for key, value in added.items() if key not in known)
            changes[word.value] = f'"{type_id}"{more}'
        elif word.arg == "title":
            changes[word.value] = f'"{title}"'
    kernels = _kernels_in(tree, source.parent)
    copies = {path: f"{name}{path.suffix}" if not n else f"{name}_{path.name}" for n, path in enumerate(kernels)}
    for path, places in kernels.items():
        changes.update(dict.fromkeys(places, f'"{copies[path]}"'))
    files = {folder / copy: read_source(path) for path, copy in copies.items()}
    return Made(_write({**files, folder / f"{name}.py": _replaced(text, changes)}), type_id)


def copy_kernel(path: Path, folder: Path) -> Made:
    """Write an own copy of a kernel file. Raise OSError when it can't be written, and KernelError for no text."""
    name = _free(folder, path.stem, (path.suffix,))
    return Made(_write({folder / f"{name}{path.suffix}": read_source(path)}))


def exchange(patch: Patch, node_id: str, type_id: str) -> None:
    """Make a node one of another type with the same ports and parameters, such as a copy of its type.

    It keeps its id, title, values, connections, checks and members. This is one undo step.
    """
    held = json.loads(dump_patch(patch))
    for node in held["nodes"]:
        if node["id"] == node_id:
            node["type"] = type_id
    patch.become(parse_patch(json.dumps(held), "patch", patch.catalogue), f"Edit a copy of {patch.title(node_id)}")


def place_kernel(patch: Patch, path: Path, position: Position, scope: str = TOP) -> str:
    """Add a block that runs a kernel file, and return the new node's id."""
    file = relative_to(path, patch.path.parent if patch.path else None)
    with patch.edit(f"Add {path.name}"):
        return patch.add("kernel.file", position=position, region=scope, file=file).id


def _defines(part: ast.AST, type_id: str) -> bool:
    if not isinstance(part, ast.ClassDef):
        return False
    values = [word.value for word in part.keywords if word.arg == "id"]
    return any(isinstance(value, ast.Constant) and value.value == type_id for value in values)


def _kernels_in(tree: ast.Module, beside: Path) -> dict[Path, list[ast.expr]]:
    """Return the kernel files that a block's file names, each with the places of its name."""
    found: dict[Path, list[ast.expr]] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.endswith(SUFFIXES):
            try:
                path = find_kernel(part.value, [beside, KERNELS_FOLDER])
            except KernelError:
                continue
            found.setdefault(path, []).append(part)
    return found


def _replaced(text: str, changes: Mapping[ast.expr, str]) -> str:
    """Return a text with other expressions at these places."""
    lines = text.splitlines(keepends=True)
    for place in sorted(changes, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        assert place.end_lineno == place.lineno
        line = lines[place.lineno - 1].encode()  # columns are counted in bytes
        replaced = line[: place.col_offset] + changes[place].encode() + line[place.end_col_offset :]
        lines[place.lineno - 1] = replaced.decode()
    return "".join(lines)


def _free(folder: Path, name: str, suffixes: Iterable[str] = (".py", *SUFFIXES)) -> str:
    """Return the name, or the name with a number, of which the folder has no file."""
    suffixes = tuple(suffixes)
    number, free = 1, name
    while any((folder / f"{free}{suffix}").exists() for suffix in suffixes):
        number += 1
        free = f"{name}_{number}"
    return free


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) or "Mine"


def _write(files: Mapping[Path, str]) -> tuple[Path, ...]:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    return tuple(files)
