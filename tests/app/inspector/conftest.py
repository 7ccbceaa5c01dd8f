"""An inspector that shows every kind of parameter."""

import pytest
from pytestqt.qtbot import QtBot

from tests.app.inspector.every_parameter import TYPE
from warploom.app.inspector.inspector import Inspector
from warploom.engine.patch.document import Patch


@pytest.fixture
def inspector(qtbot: QtBot, patch: Patch) -> Inspector:
    """An inspector of one node with every kind of parameter."""
    patch.add(TYPE, node_id="a")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(360, 500)
    inspector.show()
    inspector.set_patch(patch)
    inspector.show_nodes(["a"])
    return inspector
