"""Where the kernels of a block type are, to open them in the system's editor."""

from __future__ import annotations

from pathlib import Path

from engine.blocktypes.block import Block
from engine.blocktypes.entries import Kernel
from engine.kernel_sources.image import KERNELS_FOLDER


def kernel_files(block_type: type[Block]) -> list[Path]:
    """Return the kernel files that a block type declares and that exist, beside its own source first."""
    folders = [folder for folder in (block_type.source_folder(), KERNELS_FOLDER) if folder is not None]
    names = dict.fromkeys(value.file for value in vars(block_type).values() if isinstance(value, Kernel))
    found = (next((folder / name for folder in folders if (folder / name).is_file()), None) for name in names)
    return [path for path in found if path is not None]
