"""`warploom export`: a patch as a program. `warploom collect`: a patch with all its files."""

import re
from pathlib import Path

import click

from warploom.app.documents.trust.trust import open_patch
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.open import list_devices
from warploom.engine.diagnostics import PatchError, printable
from warploom.engine.export.cpp_folder import cpp_folder
from warploom.engine.export.python_script import python_script
from warploom.engine.export.standalone import exported_graph, standalone_script
from warploom.engine.patch.beside.collect import collect_files
from warploom.engine.patch.files import SUFFIX, write_atomically


def export_patch(
    *,
    patch: Path,
    python: Path | None,
    standalone: Path | None,
    cpp: Path | None,
    architecture: str | None,
    trust: bool,
) -> int:
    """Write a patch as a program, and return the exit status."""
    given = {"--python": python, "--standalone": standalone, "--cpp": cpp}
    chosen = [(name, file) for name, file in given.items() if file is not None]
    if len(chosen) != 1:
        raise click.UsageError(f"one of {', '.join(given)} must be given, got {len(chosen)}")
    if architecture is not None and not re.fullmatch(r"sm_\d{2,3}[af]?", architecture):
        raise click.BadParameter(f"--architecture must be a GPU's, such as sm_90, got {architecture!r}")
    ((name, file),) = chosen
    if file is cpp and file.is_file():
        raise click.BadParameter(f"--cpp must be a folder, got the file {file}")
    if file is not cpp and file.suffix != ".py":
        raise click.BadParameter(f"{name} must be a .py file, got {file}")
    opened = open_patch(patch, trust=trust)
    if python is not None:
        _write(file, python_script(opened, file).encode(errors="backslashreplace"))
    else:
        graph = exported_graph(opened, architecture or _own_architecture())
        if standalone is not None:
            _write(file, standalone_script(graph).encode())
        for name, data in cpp_folder(graph).items() if cpp is not None else ():
            _write(file / name, data)
    click.echo(f"wrote {file}")
    return 0


def collect_patch(*, patch: Path, folder: Path, trust: bool) -> int:
    """Copy a patch and its files into a folder, and return the exit status."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise click.BadParameter(f"DIR must be a new or an empty folder, got {folder}")
    opened = open_patch(patch, trust=trust)
    _make_folder("folder", folder)
    place = folder / (opened.path.name if opened.path is not None else f"patch{SUFFIX}")
    found = collect_files(opened, place)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != place)  # with large arrays
    for path in (place, *files):
        click.echo(printable(f"wrote {path}"))
    for value in found.missing:
        click.echo(printable(f"file must be there to be copied, got {value}, which is missing"), err=True)
    return 1 if found.missing else 0


def _own_architecture() -> str:
    """Return the architecture of the first GPU, or that of PTX."""
    found = [device.architecture for device in list_devices() if device.usable and device.name != "host"]
    return found[0] if found else HOST_ARCHITECTURE


def _write(path: Path, data: bytes) -> None:
    _make_folder("program", path.parent)
    try:
        write_atomically(path, data)
    except OSError as problem:
        raise PatchError(f"program must be writable: {path}: {problem.strerror or problem}") from problem


def _make_folder(what: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise PatchError(f"{what} must be writable: {folder}: {problem.strerror or problem}") from problem
