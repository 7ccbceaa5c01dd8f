"""The examples with loops, append buffers and feedback, on the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine import Engine
from engine.device.device import Device
from engine.patch.files import dump_patch, load_patch
from tests.blocks.control_checks import CHECKS, EXAMPLES, example

NAMES = [check.__name__.removeprefix("check_") for check in CHECKS]


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
def test_example_computes_what_numpy_does(check: Callable[[Device | str], None]) -> None:
    """Each has an oracle of its own: see `control_checks`."""
    check("host")


@pytest.mark.parametrize("name", NAMES)
def test_example_is_what_the_editor_saves(name: str) -> None:
    """Loading and saving an example changes nothing, so that a diff of it shows edits alone."""
    path = EXAMPLES / f"{name}.loom"
    assert dump_patch(load_patch(path)) == path.read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_example_shows_a_picture(name: str) -> None:
    """A viewer is connected, its picture is not of one colour, and there are no diagnostics."""
    patch = load_patch(EXAMPLES / f"{name}.loom")
    assert patch.extra["title"] and patch.extra["description"].endswith(".")
    (shown,) = patch.connections_of("viewer")
    with Engine(patch, device="host") as engine:
        for _ in range(4):
            assert not engine.step().diagnostics
        assert engine.read(shown.source)[..., :3].std() > 1e-4


def test_a_loop_inside_the_limit_says_nothing_and_one_beyond_it_does() -> None:
    """The plate with too low a limit keeps its picture and warns."""
    patch = example("jacobi", loop={"limit": 20})
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
        assert engine.read(patch["loop"]["turns"]).tolist() == [20]
    assert [(problem.node, problem.port) for problem in report.diagnostics] == [("loop", "turns")]
