"""The text beside a dragged connection."""

import pytest

from warploom.app.view_models.connection_preview import changes_of
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import Connected, Connection, Disconnected, PortRef
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with a wave and an unconnected block with parameters."""
    patch = Patch(Catalogue())
    patch.add("test_canvas.wave", node_id="wave")
    patch.add("test_canvas.blend", node_id="blend")
    return patch


def test_the_cost_includes_the_connection_that_was_picked_up(patch: Patch) -> None:
    """The cost includes removing the connection that was picked up; dropping it back costs nothing."""
    picked = patch.connect(PortRef("wave", "value"), PortRef("blend", "steps"))
    elsewhere = Connection(picked.source, PortRef("blend", "elsewhere"))
    assert changes_of(patch, elsewhere, picked) == [Disconnected(picked), Connected(elsewhere)]
    instead = Connection(PortRef("other", "value"), PortRef("blend", "steps"))
    assert changes_of(patch, instead, picked) == [Disconnected(picked), Connected(instead)]
    assert changes_of(patch, picked, picked) == []
    assert changes_of(patch, picked) == []
