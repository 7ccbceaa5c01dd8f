"""Trust in Python files: compiling a kernel runs its file, which can do anything that a program can."""

from pathlib import Path

from warploom.engine.diagnostics import KernelError, Mend
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.readings import answered, resolved

#: Folders whose files may run: Warploom's kernels, and every folder of blocks, since its files run anyway.
trusted_folders: set[Path] = {KERNELS_FOLDER}


class UntrustedKernel(KernelError):
    """A Python kernel lies in an untrusted folder."""

    remedy = "read it, then trust its folder: File > Trust, `--trust`, or `trust_blocks` from Python"
    mend = Mend.TRUST


def is_hidden(part: str) -> bool:
    """True for the name of a file or folder that people don't see: trust in the folder around it leaves it out."""
    return part.startswith(".") or part == "__pycache__"


def require_trust(path: Path) -> None:
    """Raise UntrustedKernel unless a file lies in a trusted folder and is not hidden; symbolic links are followed."""
    if not is_trusted(path):
        text = f"kernel file {path.name} must lie in a folder of blocks that is trusted, got {resolved(path).parent}"
        raise UntrustedKernel(text, file=str(path))


@answered
def is_trusted(path: Path) -> bool:
    """True when a file lies in a folder whose files may run, and is not hidden there; symbolic links are followed."""
    real = path.resolve()
    inside = [real.relative_to(folder).parts for folder in tuple(trusted_folders) if real.is_relative_to(folder)]
    return any(not any(map(is_hidden, parts)) for parts in inside)
