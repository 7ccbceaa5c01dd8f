"""The help of a block type."""

import pytest

from warploom.app.view_models.block_help import kernel_files
from warploom.engine.patch.document import Patch


@pytest.mark.parametrize("block", ["image.gaussian_blur", "image.noise"])
def test_kernel_files_of_a_block_are_found(block: str) -> None:
    """The kernel files that a shipped block declares exist."""
    block_type = Patch().catalogue.require(block)
    files = kernel_files(block_type)
    assert files
    assert all(path.suffix in (".cu", ".ptx") for path in files)
