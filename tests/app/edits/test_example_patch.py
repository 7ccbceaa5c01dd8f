"""Patches made around a block type."""

import re
import textwrap

import numpy as np
import pytest

from tests.fuzzing import many
from warploom import Engine
from warploom.app.documents.gallery import example_with
from warploom.app.edits.example_patch import example_patch
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.runtime.check.check_patch import check_patch

#: What runs once a person has done what the example says.
_BY_HAND = {"io.external"}
_SOME = (
    "image.gradient",
    "data.histogram",
    "buffer.gather",
    "linalg.lu",
    "reduce.sum",
    "signal.pitch",
    "value.ramp",
    "kernel.file",
    "kernel.chain",
    "control.if_else",
    "control.switch",
    "linalg.solve_factored",
)


def test_a_made_example_runs_and_shows_the_block() -> None:
    """The patch compiles, and has the block with all required inputs connected; nearly all blocks have one."""
    catalogue = default_catalogue()
    library = [found.id for found in catalogue.search("") if not found.id.startswith("test_")]
    for name in _SOME if many(1) == 1 else library:
        patch, node = example_patch(catalogue.require(name), catalogue, check_patch)
        assert patch.nodes[node].type == name
        assert (
            name in _BY_HAND
            or example_with(name) is not None
            or not any(found.severity is Severity.ERROR for found in check_patch(patch))
        ), name
        assert len({found.position for found in patch.nodes.values()}) == len(patch.nodes), name


def test_an_example_of_indices_has_whole_numbers_and_shows_the_result() -> None:
    """Gather is fed whole numbers as indices, and its result, like the counts of a histogram, is plotted."""
    catalogue = default_catalogue()
    for name in ("buffer.gather", "data.histogram"):
        patch = example_patch(catalogue.require(name), catalogue, check_patch)[0]
        kinds = {found.type for found in patch.nodes.values()}
        assert {"image.plot", "io.viewer"} <= kinds and ("random.integers" in kinds) == (name == "buffer.gather")


@pytest.mark.feature("block_help")
def test_an_example_that_needs_python_runs_by_the_lines_that_it_shows() -> None:
    """The frame around External has the lines for the console; with these, the viewer gets the array's numbers."""
    catalogue = default_catalogue()
    made, node = example_patch(catalogue.require("io.external"), catalogue, check_patch)
    patch = parse_patch(dump_patch(made))
    (frame,) = patch.annotations_of(Frame)
    first, second = re.findall(r"(?:^    .*\n)+", frame.comment, re.MULTILINE)
    names = {"np": np, "patch": patch}
    exec(textwrap.dedent(first), names)
    with Engine(patch, "host") as engine:
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(PortRef(node, "out")), names["picture"])
        exec(textwrap.dedent(second), names)
        engine.step()
        assert engine.read(PortRef(node, "out"))[100, 100] == 0.5
