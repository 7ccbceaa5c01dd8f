"""A small patch: source -> scale, and an unconnected count."""

import pytest

from engine.patch.document import Patch
from tests.app.sample_blocks import make_patch


@pytest.fixture
def patch() -> Patch:
    """A patch with two connected nodes and an unconnected one."""
    return make_patch()
