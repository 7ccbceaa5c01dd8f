"""Files that are dropped on the canvas: each file that a block can load becomes one, and each folder of images."""

from collections.abc import Iterable
from pathlib import Path

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
SOUNDS = (".wav", ".flac", ".ogg", ".mp3", ".aif", ".aiff")
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
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".arrow", ".feather")
ARRAYS = (".npy", ".npz")
MESHES = (".obj", ".gltf", ".glb", ".stl", ".off")
#: Files of points; a PLY file may have a mesh as well.
CLOUDS = (".las", ".laz", ".xyz", ".ply")
LUTS = (".cube",)
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
}
#: As much of a PLY file as its header has at most, if it says anything about triangles.
_HEADER_BYTES = 4096
#: The distance between the blocks of one drop.
_APART = 120.0


def is_usable(path: Path) -> bool:
    """True for a file that can be dropped: a kernel, a patch or what a block loads, or a folder of images."""
    if path.is_dir():
        return any(each.suffix.lower() in PICTURES for each in path.iterdir())
    return path.suffix.lower() in _LOADERS or path.suffix in SUFFIXES or path.suffix == SUFFIX


def place_files(patch: Patch, paths: Iterable[Path], position: Position, scope: str) -> list[str]:
    """Add a block for each entry point of each kernel file, each other file and each folder of images.

    Return the ids of the new nodes.

    Raise PatchError if none of the files is of these kinds. A kernel with errors gets its block too, which shows them.
    """
    usable = [path for path in paths if is_usable(path) and path.suffix != SUFFIX]
    if not usable:
        kinds = ", ".join(sorted({*SUFFIXES, *_LOADERS}))
        raise PatchError(f"a dropped file must end in one of {kinds}, or be a folder of images")
    made: list[str] = []
    with patch.edit(f"Add {', '.join(path.name for path in usable)}"):
        for path in usable:
            file = relative_to(path, patch.path.parent if patch.path else None)
            for type_id, values in _blocks(path, file):
                place = (position[0], position[1] + len(made) * _APART)
                made.append(patch.add(type_id, position=place, region=scope, **values).id)
    return made


def _blocks(path: Path, file: str) -> list[tuple[str, dict[str, str]]]:
    """Return the types of the blocks for a file or folder, each with its values."""
    if path.is_dir():
        return [("io.load_images", {"files": file})]
    if (loader := _LOADERS.get(path.suffix.lower())) is not None:
        return [("geometry.load_mesh" if _has_triangles(path) else loader, {"file": file})]
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
