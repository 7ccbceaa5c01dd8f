"""These tests count the files of trusted folders, so they begin without any."""

import pytest

from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import forget_blocks


@pytest.fixture(autouse=True, scope="module")
def forgets_blocks() -> None:
    """Forget the folders that earlier tests of this process have trusted, as commands do until the process ends."""
    for folder in block_folders.trusted:
        forget_blocks(folder)
