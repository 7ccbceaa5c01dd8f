"""Files that are dropped on the canvas: each file that a block can load becomes one, and each folder of images."""

from collections.abc import Callable, Iterable
from pathlib import Path

from warploom.app.edits.nodes import set_parameter
from warploom.blocks.io.decode_image import PICTURES
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import KernelError, PatchError
from warploom.engine.kernel_sources.loader import SUFFIXES, load_image
from warploom.engine.patch.beside.file_paths import relative_to
from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import SUFFIX
from warploom.engine.readings import open_file

#: Suffixes of the files that *Load Audio* reads.
SOUNDS = (
    ".wav",
    ".flac",
    ".ogg",
    ".oga",
    ".opus",
    ".mp3",
    ".aif",
    ".aiff",
    ".m4a",
    ".mka",
    ".wma",
    ".caf",
    ".au",
    ".w64",
)
#: Suffixes of the films that *Load Video* reads; its library knows more.
FILMS = (
    ".mp4",
    ".m4v",
    ".mov",
    ".mkv",
    ".webm",
    ".avi",
    ".mpg",
    ".mpeg",
    ".mts",
    ".ts",
    ".mxf",
    ".wmv",
    ".flv",
    ".gif",
)
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")
ARRAYS = (".npy", ".npz", ".safetensors")
MESHES = (".obj", ".gltf", ".glb", ".stl", ".off")
#: Files of points; a PLY file may have a mesh as well.
CLOUDS = (".las", ".laz", ".xyz", ".ply")
LUTS = (".cube",)
FONTS = (".ttf", ".otf", ".ttc")
#: The blocks that load files other than kernels, by suffix.
_LOADERS = {
    **dict.fromkeys(PICTURES, "io.load_image"),
    **dict.fromkeys(SOUNDS, "io.load_audio"),
    **dict.fromkeys(FILMS, "io.load_video"),
    **dict.fromkeys(TABLES, "data.load_table"),
    **dict.fromkeys(ARRAYS, "data.load_array"),
    **dict.fromkeys(MESHES, "geometry.load_mesh"),
    **dict.fromkeys(CLOUDS, "geometry.load_points"),
    **dict.fromkeys(LUTS, "image.lut"),
    **dict.fromkeys(FONTS, "image.text"),
}
#: What a person can do with files that no block reads, by suffix.
_HINTS = {
    **dict.fromkeys(
        (".fbx", ".blend", ".usd", ".usda", ".usdc", ".usdz", ".abc", ".dae", ".3ds", ".3mf", ".ma", ".mb", ".c4d"),
        "export it as glTF or OBJ",
    ),
    **dict.fromkeys((".e57", ".pts", ".pcd"), "save it as PLY, LAS or XYZ"),
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "save the sheet as CSV"),
    **dict.fromkeys(
        (".h5", ".hdf5", ".mat", ".pkl", ".pickle", ".pt", ".pth", ".ckpt"), "save its arrays as NPY or safetensors"
    ),
    **dict.fromkeys((".svg", ".pdf", ".ai", ".eps"), "export it as PNG"),
    **dict.fromkeys((".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".orf"), "develop it, and save it as TIFF"),
    **dict.fromkeys((".3dl", ".clf", ".icc", ".icm"), "save the table as .cube"),
    **dict.fromkeys((".mid", ".midi"), "play it into MIDI In, or render it as WAV"),
    **dict.fromkeys((".glsl", ".frag", ".vert", ".hlsl", ".fx", ".wgsl", ".cl"), "write it as a CUDA kernel, in .cu"),
    **dict.fromkeys((".cuh", ".h", ".hpp"), "drop the .cu that includes it"),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".gz"), "unpack it"),
    **dict.fromkeys(
        (".toe", ".tox", ".vl", ".v4p", ".hip", ".nk", ".gh"),
        "patches of other programs can't be read, but their pictures, films, meshes and CUDA files can",
    ),
}
#: The suffixes of the files that a path parameter names, by the last word of its `files`.
ENDINGS: dict[str, tuple[str, ...]] = {
    "image": PICTURES,
    "kernel": SUFFIXES,
    "video": FILMS,
    "sound": SOUNDS,
    "table": TABLES,
    "rows": (*TABLES, *ARRAYS),
    "array": ARRAYS,
    "mesh": (*MESHES, ".ply"),
    "points": (*CLOUDS, *MESHES),
    "lut": LUTS,
    "font": FONTS,
}
#: As much of a PLY file as its header has at most, if it says anything about triangles.
_HEADER_BYTES = 4096
#: The room below each block of one drop, which a thumbnail needs, and the gap to the next column.
_BELOW, _BESIDE = 112.0, 48.0
#: The blocks in a column, and the most of one drop: more pictures would fill a GPU's memory.
_IN_COLUMN, _MOST = 6, 64


def is_usable(path: Path) -> bool:
    """True for a file that can be dropped: a kernel, a patch or what a block loads, or a folder of images."""
    try:
        if path.is_dir():
            return any(each.suffix.lower() in PICTURES for each in path.iterdir())
    except OSError:  # it may not be read
        return False
    return path.suffix.lower() in _LOADERS or path.suffix in SUFFIXES or path.suffix == SUFFIX


def not_read(path: Path) -> str:
    """Return why no block reads a file or folder, and what can be done."""
    if path.is_dir():
        return f"No block reads folder {path.name}, which has no pictures; drop the files in it"
    hint = _HINTS.get(path.suffix.lower())
    return f"No block reads {path.name}" + (f"; {hint}" if hint else "")


def place_files(
    patch: Patch,
    paths: Iterable[Path],
    position: Position,
    scope: str,
    size: Callable[[str], tuple[float, float]] = lambda _: (160.0, 48.0),
) -> list[str]:
    """Add a block for each entry point of each kernel file, each other file and each folder of images.

    The first one is at `position`, others are below and beside it; `size` returns the size of a node. Return the ids of
    the new nodes.

    Raise PatchError if none of the files is of these kinds. A kernel with errors gets its block too, which shows them.
    """
    paths = list(paths)
    usable = [path for path in paths if is_usable(path) and path.suffix != SUFFIX]
    if not usable:
        names, hint = ", ".join(path.name for path in paths), not_read(paths[0]).partition("; ")[2] if paths else ""
        raise PatchError(
            "file must be a picture, sound, film, table, array, mesh, cloud of points, LUT, font or kernel, or a "
            f"folder of pictures, got {names}" + (f"; {hint}" if hint else "")
        )
    blocks = [(path, block) for path in usable for block in _blocks(path, _relative(patch, path))]
    if len(blocks) > _MOST:
        raise PatchError(
            f"files must be at most {_MOST} at a time, got {len(blocks)}; a folder of pictures becomes one Load Images"
        )
    made: list[str] = []
    (x, y), column = position, 0.0
    with patch.edit(f"Add {_names(usable)}"):
        for path, (type_id, values) in blocks:
            if made and not len(made) % _IN_COLUMN:
                x, y, column = x + column + _BESIDE, position[1], 0.0
            title = "" if path.suffix in SUFFIXES else path.name  # a kernel has a name of its own
            node = patch.add(type_id, position=(x, y), region=scope, title=title, **values).id
            width, height = size(node)
            y, column = y + height + _BELOW, max(column, width)
            made.append(node)
    return made


def file_parameter(patch: Patch, node: str, paths: Iterable[Path]) -> str:
    """Return the parameter of a node that names a file to read, if one file is given that it can be; "" otherwise."""
    paths, block_type = list(paths), patch.block_type(node)
    if len(paths) != 1 or block_type is None:
        return ""
    (path,) = paths
    for name, spec in block_type.parameters.items():
        way, _, kind = spec.files.partition(" ")
        is_folder = kind == "images" and is_usable(path) and path.is_dir()
        if way == "open" and (is_folder or path.suffix.lower() in ENDINGS.get(kind, ())):
            return name
    return ""


def give_file(patch: Patch, node: str, parameter: str, path: Path) -> None:
    """Let a node read another file."""
    with patch.edit(f"Load {path.name}"):
        set_parameter(patch, [node], parameter, _relative(patch, path))


def free_file(folder: Path, stem: str, suffix: str) -> Path:
    """Return the path of a new file in a folder: the stem with the first number that no file there has."""
    number = 1
    while (path := folder / f"{stem}_{number}{suffix}").exists():
        number += 1
    return path


def _relative(patch: Patch, path: Path) -> str:
    return relative_to(path, patch.path.parent if patch.path else None)


def _names(paths: list[Path]) -> str:
    """Return the names of a few files, or the first one and the number of the others."""
    return ", ".join(path.name for path in paths) if len(paths) < 4 else f"{paths[0].name} and {len(paths) - 1} more"


def _blocks(path: Path, file: str) -> list[tuple[str, dict[str, str]]]:
    """Return the types of the blocks for a file or folder, each with its values."""
    if path.is_dir():
        return [("io.load_images", {"files": file})]
    if (loader := _LOADERS.get(path.suffix.lower())) is not None:
        parameter = "font_file" if loader == "image.text" else "file"
        return [("geometry.load_mesh" if _has_triangles(path) else loader, {parameter: file})]
    return [(type_id, {"file": file, **values}) for type_id, values in kernel_blocks(path)]


def _has_triangles(path: Path) -> bool:
    """True for a PLY file whose header names faces."""
    if path.suffix.lower() != ".ply":
        return False
    try:
        with open_file(path) as file:
            header = file.read(_HEADER_BYTES).partition(b"end_header")[0]
    except OSError:
        return False
    faces = next((line.split()[2:3] for line in header.splitlines() if line.startswith(b"element face")), [])
    return bool(faces) and faces[0].isdigit() and int(faces[0]) > 0


def kernel_blocks(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Return the types of the blocks for a kernel file, each with values; nothing for other files."""
    if path.suffix not in SUFFIXES:
        return []
    try:
        entries = list(load_image(path, HOST_ARCHITECTURE).signatures)
    except KernelError:
        entries = []
    return [("kernel.file", {"entry": entry} if len(entries) > 1 else {}) for entry in entries or [""]]
