"""A small patch: source -> scale, and count beside them."""

import pytest

from engine.patch.document import Patch
from tests.app.sample_blocks import make_patch


@pytest.fixture
def patch() -> Patch:
    """A patch with two connected nodes and a free one."""
    return make_patch()
