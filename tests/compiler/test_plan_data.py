"""The plan as data: buffers in use at once have different bytes, and every name leads somewhere."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from tests.protocol.engine_process import COMMAND
from tests.runtime.check.pinning import moving
from warploom import Engine
from warploom.engine.compiler.inspection import FramePlan, frame_plan
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.runtime.check.check_patch import plan_patch
from warploom.engine.runtime.engine import open_engine

EXAMPLES = ("particles", "springs", "whirl", "picture", "colours")


def plan_of(name: str) -> FramePlan:
    """Return the plan of an example."""
    plan, _ = plan_patch(load_patch(EXAMPLES_FOLDER / f"{name}.loom"))
    assert plan is not None
    return frame_plan(plan)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_two_buffers_that_live_at_the_same_time_share_bytes(name: str) -> None:
    """Between their first and last use, buffers of the arena are at different bytes; `shares` names all others."""
    plan = plan_of(name)
    for one, other in combinations([buffer for buffer in plan.buffers if buffer.offset >= 0], 2):
        meets = one.offset < other.offset + other.held_bytes and other.offset < one.offset + one.held_bytes
        lives = one.first <= other.last and other.first <= one.last
        assert not (meets and lives), (one, other)
        assert meets == (other.name in one.shares) == (one.name in other.shares)
    assert all(buffer.offset + buffer.held_bytes <= plan.arena_bytes for buffer in plan.buffers if buffer.offset >= 0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_buffer_is_used_only_within_its_bar(name: str) -> None:
    """Operations use buffers of the plan, in their time, and wait for earlier operations of the same body."""
    plan = plan_of(name)
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    for index, operation in enumerate(plan.operations):
        for used in {*operation.reads, *operation.writes} & buffers.keys():
            assert buffers[used].first <= index <= buffers[used].last
        for earlier in operation.after:
            before = plan.operations[earlier]
            assert earlier < index and (before.region, before.body) == (operation.region, operation.body)
        assert operation.region < index
        assert operation.region == -1 or plan.operations[operation.region].kind == "region"


def test_an_engine_elsewhere_answers_with_the_same_plan(tmp_path: Path) -> None:
    """`Client.plan` is None before the first frame, and then the same here and over the pipe."""
    patch = moving()
    with Engine(patch, "host") as engine:
        assert engine.plan() is None
        engine.step()
        here = engine.plan()
    assert here is not None and {node for each in here.operations for node in each.nodes} >= {"total", "scale"}
    with open_engine(patch, "host", COMMAND, profiling=ProfilingLevel.NONE) as client:
        client.step()
        assert client.plan() == here


def test_the_command_line_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    """`warploom plan --format json` prints the operations and buffers."""
    from warploom.app.cli.headless import plan_headless

    assert plan_headless(patch=EXAMPLES_FOLDER / "colours.loom", form="json", out=None, trust=False, fuse=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.keys() == {"operations", "buffers", "arena_bytes", "unshared_bytes", "own_bytes"}
    assert {"kind", "title", "nodes", "after", "region", "reads", "writes"} <= told["operations"][0].keys()
