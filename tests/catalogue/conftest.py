"""Folders of blocks whose types are gone when a test ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue.block_folders import block_folders
from tests.catalogue.block_texts import BlockFolder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[BlockFolder]:
    """A folder `blocks` that nothing has loaded yet."""
    made = BlockFolder(tmp_path / "blocks")
    yield made
    block_folders.remove(made.path)
    block_folders.reload([]).result(30)
