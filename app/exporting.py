"""`warploom export`: a patch as a program."""

from pathlib import Path

import click

from warploom.app.documents.trust.trust import open_patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.python_script import python_script
from warploom.engine.patch.files import write_atomically


def export_patch(*, patch: Path, python: Path | None, trust: bool) -> int:
    """Write a patch as a program, and return the exit status."""
    if python is None:
        raise click.UsageError("--python FILE must be given")
    if python.suffix != ".py":
        raise click.BadParameter(f"--python must be a .py file, got {python}")
    _write(python, python_script(open_patch(patch, trust=trust), python).encode(errors="backslashreplace"))
    click.echo(f"wrote {python}")
    return 0


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as problem:
        raise PatchError(f"program must be writable: {path}: {problem.strerror or problem}") from problem
