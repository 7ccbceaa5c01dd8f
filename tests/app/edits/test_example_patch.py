"""Patches made around a block type."""

from app.documents.gallery import example_with
from app.edits.example_patch import example_patch
from engine.catalogue.catalogue import default_catalogue
from engine.diagnostics import Severity
from engine.runtime.check.check_patch import check_patch
from tests.fuzzing import many

#: What can't run without a choice of the person.
_OPEN = {"io.external"}
_SOME = ("image.gradient", "linalg.lu", "reduce.sum", "value.ramp", "kernel.file", "kernel.chain", "control.if_else")


def test_a_made_example_runs_and_shows_the_block() -> None:
    """The patch compiles, and has the block with all required inputs connected; nearly all blocks have one."""
    catalogue = default_catalogue()
    library = [found.id for found in catalogue.search("") if not found.id.startswith("test_")]
    for name in _SOME if many(1) == 1 else library:
        patch, node = example_patch(catalogue.require(name), catalogue, check_patch)
        assert patch.nodes[node].type == name
        assert (
            name in _OPEN
            or example_with(name) is not None
            or not any(found.severity is Severity.ERROR for found in check_patch(patch))
        ), name
        assert len({found.position for found in patch.nodes.values()}) == len(patch.nodes), name
