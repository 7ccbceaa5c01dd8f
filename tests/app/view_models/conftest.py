"""A small patch: source -> scale, and an unconnected count."""

import pytest

from tests.app.sample_blocks import make_patch
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with two connected nodes and an unconnected one."""
    return make_patch()
