"""The verifier reports every mistake in a plan: each rule is broken once, on purpose."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import graph, ref
from tests.compiler.support.random_patches import random_patch
from warploom.engine.compiler import planning
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.inlining.inline import inline
from warploom.engine.compiler.operations import (
    Access,
    ClearStatus,
    DownloadStatus,
    Operation,
    OperationSchedule,
    Place,
    RegionEntry,
    UploadFrame,
)
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan, plan_what_can_run
from warploom.engine.compiler.scheduling import schedule
from warploom.engine.compiler.verifying.touches import Reach, is_copy_of_delay, is_fill
from warploom.engine.compiler.verifying.verify import BrokenPlan, verify
from warploom.engine.descriptions.entries import FillEntry, SliceView
from warploom.engine.diagnostics import GraphValidationError, Source


@pytest.fixture(autouse=True)
def makes_sound_plans() -> None:
    """Replace the fixture that verifies every plan: plans here are broken on purpose."""


def sample() -> Plan:
    """Return a plan with regions, a view, in-place blocks, a delay, defaults and buffers that share memory."""
    return make_plan(
        graph(
            BlockNode("s", blocks.fresh(4, 64, 1)),
            BlockNode("half", blocks.view(SliceView(0, 0, 2))),
            BlockNode("low", blocks.copy()),
            BlockNode("change", blocks.scale()),
            BlockNode("flag", blocks.is_rare(2)),
            BlockNode("choice", blocks.when(0, otherwise=True)),
            BlockNode("then", blocks.mix(), "choice"),
            BlockNode("loop", blocks.loop_for(), "choice.else"),
            BlockNode("turn", blocks.absorb(), "loop"),
            BlockNode("late", blocks.delay(3), "loop"),
            BlockNode("sum", blocks.total()),
            BlockNode("end", blocks.blend()),
            BlockNode("last", blocks.copy()),
            wires=[
                "s.out half.x",
                "half.out low.x",
                "s.out change.x",
                "change.out flag.x",
                "flag.out choice.condition",
                "change.out then.x",
                "low.out turn.x",
                "late.out turn.y",
                "loop.index late.like",
                "loop.index late.x",
                "then.out sum.x",
                "sum.out end.x",
                "turn.out end.y",
                "end.out last.x",
            ],
        )
    )


def find(plan: Plan, wanted: Callable[[Operation], bool]) -> int:
    return next(index for index, operation in enumerate(plan.operations) if wanted(operation))


def changed(plan: Plan, index: int, **fields: Any) -> Plan:
    """Return the plan with one operation changed."""
    operations = list(plan.operations)
    operations[index] = structs.replace(operations[index], **fields)
    return replace(plan, schedule=plan.schedule._replace(operations=tuple(operations)))


def moved(plan: Plan, **offsets: int) -> Plan:
    """Return the plan with other offsets in the arena, given by block."""
    places = {owner: offsets.get(owner.node, offset) for owner, offset in plan.placement.offsets.items()}
    return replace(plan, placement=replace(plan.placement, offsets=places))


def with_launch(plan: Plan, index: int, grid: tuple[int, int, int]) -> Plan:
    other = replace(plan)
    other.__dict__["launches"] = {**plan.launches, index: replace(plan.launches[index], grid=grid)}
    return other


def with_place(plan: Plan, port: str, place: Place) -> Plan:
    node, name = ref(port).node, ref(port).port
    block = plan.buffers.blocks[node]
    other = structs.replace(block, places={**block.places, name: place})
    return replace(plan, buffers=replace(plan.buffers, blocks={**plan.buffers.blocks, node: other}))


def test_a_sound_plan_has_no_problems() -> None:
    """The sample breaks no rule, and contains fills, copies of delays and shared memory."""
    plan = sample()
    assert verify(plan) == []
    assert any(is_fill(operation) for operation in plan.operations)
    assert any(is_copy_of_delay(operation) for operation in plan.operations)
    assert plan.placement.size_bytes < plan.placement.unshared_bytes


def break_scope(plan: Plan) -> Plan:
    return changed(plan, find(plan, lambda o: o.node == "then" and o.place == 0), scope=0)


def break_order(plan: Plan) -> Plan:
    return changed(plan, find(plan, lambda o: o.node == "s"), after=(find(plan, lambda o: o.node == "end"),))


def break_region(plan: Plan) -> Plan:
    index = find(plan, lambda o: isinstance(o.entry, RegionEntry))
    return changed(plan, index, entry=replace(plan.operations[index].entry, scopes=()))


def break_entry(plan: Plan) -> Plan:
    other = plan.operations[find(plan, lambda o: o.node == "low")].entry
    return changed(plan, find(plan, lambda o: o.node == "last"), entry=other, place=1)


def break_work(plan: Plan) -> Plan:
    index = find(plan, lambda o: o.node == "then" and isinstance(o.entry, FillEntry) and o.place == 0)
    return changed(plan, index, entry=replace(plan.operations[index].entry, value=2))


def break_delay(plan: Plan) -> Plan:
    index = find(plan, is_copy_of_delay)
    return changed(plan, index, entry=plan.operations[find(plan, lambda o: o.node == "low")].entry)


def break_access(plan: Plan) -> Plan:
    index = find(plan, lambda o: o.node == "end")
    return changed(plan, index, access=Access((), plan.operations[index].access.writes))


def break_launch(plan: Plan) -> Plan:
    return with_launch(plan, find(plan, lambda o: o.node == "s"), (1, 1, 1))


def break_generosity(plan: Plan) -> Plan:
    return with_launch(plan, find(plan, lambda o: o.node == "flag"), (2, 1, 1))


def break_view(plan: Plan) -> Plan:
    return with_place(plan, "half.out", Place(ref("s.out"), 768, 512))


def break_input(plan: Plan) -> Plan:
    return with_place(plan, "last.x", plan.buffers.places[ref("low.out")])


def break_size(plan: Plan) -> Plan:
    return with_place(plan, "end.out", Place(ref("end.out"), 0, 128))


def break_alignment(plan: Plan) -> Plan:
    return moved(plan, end=plan.placement.offsets[ref("end.out")] + 4)


def break_arena(plan: Plan) -> Plan:
    return moved(plan, end=plan.placement.size_bytes)


def break_sharing(plan: Plan) -> Plan:
    return moved(plan, flag=plan.placement.offsets[ref("s.out")])


def break_upload(plan: Plan) -> Plan:
    return changed(plan, find(plan, lambda o: o.node == "s"), after=())


def break_clearing(plan: Plan) -> Plan:
    index = find(plan, lambda o: isinstance(o.entry, RegionEntry))
    clear = find(plan, lambda o: isinstance(o.entry, ClearStatus))
    return changed(plan, index, after=tuple(i for i in plan.operations[index].after if i != clear))


def break_reading_back(plan: Plan) -> Plan:
    return changed(plan, find(plan, lambda o: isinstance(o.entry, DownloadStatus)), after=())


def break_missing_upload(plan: Plan) -> Plan:
    other = plan.operations[find(plan, lambda o: isinstance(o.entry, ClearStatus))].entry
    return changed(plan, find(plan, lambda o: isinstance(o.entry, UploadFrame)), entry=other)


def break_default(plan: Plan) -> Plan:
    fill = find(plan, lambda o: is_fill(o) and o.node == "then")
    region = find(plan, lambda o: isinstance(o.entry, RegionEntry))
    return changed(plan, region, after=tuple(i for i in plan.operations[region].after if i != fill))


def break_reading_before_a_change(plan: Plan) -> Plan:
    low = find(plan, lambda o: o.node == "low")
    index = find(plan, lambda o: o.node == "change")
    return changed(plan, index, after=tuple(i for i in plan.operations[index].after if i != low))


BROKEN = [
    (break_scope, "must list its operations"),
    (break_order, "must wait for earlier ones of its scope"),
    (break_region, "must be a body of its region"),
    (break_entry, "must be asked for by a block"),
    (break_work, "must do what its block asks"),
    (break_delay, "each delay must be copied once"),
    (break_access, "must name what it touches"),
    (break_launch, "launch"),
    (break_generosity, "launch"),
    (break_view, "must lie at the place of its source"),
    (break_input, "must lie at the place of its source"),
    (break_size, "must have the bytes of its layout"),
    (break_alignment, "must lie aligned in the arena"),
    (break_arena, "must lie aligned in the arena"),
    (break_sharing, "must find s.out in memory, got other contents"),
    (break_upload, "UploadFrame must be ordered"),
    (break_clearing, "ClearStatus must be ordered"),
    (break_reading_back, "DownloadStatus must be ordered"),
    (break_missing_upload, "UploadFrame must be at the top 1 times"),
    (break_default, "then.out must be filled before choice"),
    (break_reading_before_a_change, "must be ordered, since both touch s.out"),
]


@pytest.mark.parametrize(("harm", "said"), BROKEN, ids=[harm.__name__.removeprefix("break_") for harm, _ in BROKEN])
def test_each_broken_rule_is_reported(harm: Callable[[Plan], Plan], said: str) -> None:
    """A plan that breaks a rule is reported with the rule's message."""
    plan = harm(sample())
    assert any(said in problem for problem in verify(plan)), verify(plan)


@pytest.mark.parametrize("seed", range(12))
def test_every_dependency_that_matters_is_missed(seed: int) -> None:
    """A plan without one of its dependencies is reported, unless other dependencies imply it."""
    description = random_patch(seed, 14).description
    while True:
        try:
            plan = make_plan(description)
            break
        except GraphValidationError as refused:
            description = description.without(description.dependents(d.node for d in refused.errors if d.node))
    for index, operation in enumerate(plan.operations):
        for earlier in operation.after:
            less = changed(plan, index, after=tuple(i for i in operation.after if i != earlier))
            still = Reach(less.operations, less.scopes).before(earlier, index)
            assert still == (verify(less) == []), (earlier, index)


def test_plans_are_verified_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With WARPLOOM_VERIFY=1, making a plan that breaks a rule raises an error with the rule's message."""
    description = sample().description

    def without_order(*given: Any) -> OperationSchedule:
        made = schedule(*given)
        return made._replace(operations=tuple(structs.replace(o, after=()) for o in made.operations))

    monkeypatch.setattr(planning, "schedule", without_order)
    for value in ("", "0", None):
        if value is None:
            monkeypatch.delenv("WARPLOOM_VERIFY")
        else:
            monkeypatch.setenv("WARPLOOM_VERIFY", value)
        assert verify(make_plan(description)) != []
    monkeypatch.setenv("WARPLOOM_VERIFY", "1")
    with pytest.raises(BrokenPlan, match=r"a plan must break no rule, got \d+: .* must be ordered, since both touch"):
        make_plan(description)
    found = plan_what_can_run(inline(description), [], frozenset())
    (told,) = found.diagnostics
    assert found.plan is None and told.source is Source.ENGINE
    assert told.message.startswith("a plan must break no rule")
