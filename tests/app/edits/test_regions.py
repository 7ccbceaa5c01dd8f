"""Edits of regions, and connections across their borders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.sample_blocks import KINDS, patch_with_region
from warploom.app.edits import regions
from warploom.app.edits.compatible import ends, refusal
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Change, PortRef
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with a block in a region, and blocks outside."""
    return patch_with_region()


@st.composite
def nested_patches(draw: st.DrawFn) -> Patch:
    """Draw nested blocks and regions with random connections that the rules allow."""
    patch = Patch(default_catalogue())
    scopes = [""]
    for name in draw(st.lists(st.sampled_from(["scale", "show", "for", "if_else", "delay"]), min_size=2, max_size=8)):
        scope = draw(st.sampled_from(scopes))
        kind = "buffer.frame_delay" if name == "delay" else f"control.{name}" if "control." + name in KINDS else ""
        node = patch.add(kind or f"test_canvas.{name}", region=scope)
        scopes += [node.body] if name in ("for", "if_else") else []
        scopes += [node.otherwise] if name == "if_else" else []
    ports = _ports(patch)
    for source, target in draw(st.lists(st.tuples(st.sampled_from(ports), st.sampled_from(ports)), max_size=16)):
        if patch.source_of(target) is None and refusal(patch, source, target) is None:
            patch.connect(*ends(patch, source, target))
    return patch


@given(nested_patches())
def test_ports_that_fit_across_borders_are_those_that_the_patch_accepts(patch: Patch) -> None:
    """The ports that fit across region borders are exactly those that the patch accepts."""
    free = [ref for ref in _ports(patch) if patch.source_of(ref) is None]
    for start in free:
        accepted = {end for end in free if refusal(patch, start, end) is None}
        assert patch.fitting_ends(start) & set(free) == accepted


def _ports(patch: Patch) -> list[PortRef]:
    return [
        PortRef(node, name) for node in patch.nodes for name in patch.catalogue.require(patch.nodes[node].type).ports
    ]


def test_a_copy_of_the_patch_says_why_a_move_is_refused(patch: Patch) -> None:
    """The check of a move returns the same refusal as the edit, and leaves the patch unchanged."""
    patch.connect(patch["inner"]["out"], patch["free"]["x"])
    heard: list[Change] = []
    patch.subscribe(heard.append)
    assert regions.move_refusal(patch, ["free"], "loop") is None
    reason = regions.move_refusal(patch, ["loop"], "loop")
    with pytest.raises(PatchError) as told:
        patch.move_into("loop", "loop")
    assert reason == str(told.value)
    assert heard == []
