"""Trust in Python files: compiling a kernel runs its file, which can do anything that a program can."""

from pathlib import Path

from engine.diagnostics import KernelError, Mend
from engine.kernel_sources.image import KERNELS_FOLDER
from engine.readings import answered, resolved

#: Folders whose files may run: Warploom's kernels, and every folder of blocks, since its files run anyway.
trusted_folders: set[Path] = {KERNELS_FOLDER}


class UntrustedKernel(KernelError):
    """A Python kernel lies in an untrusted folder."""

    remedy = "read it, then trust its folder: File > Trust, `--trust`, or `trust_blocks` from Python"
    mend = Mend.TRUST


def require_trust(path: Path) -> None:
    """Raise UntrustedKernel unless a file lies in a trusted folder; symbolic links are followed."""
    if not is_trusted(path):
        text = f"kernel file {path.name} must lie in a folder of blocks that is trusted, got {resolved(path).parent}"
        raise UntrustedKernel(text, file=str(path))


@answered
def is_trusted(path: Path) -> bool:
    """True when a file lies in a folder whose files may run; symbolic links are followed."""
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in tuple(trusted_folders))
