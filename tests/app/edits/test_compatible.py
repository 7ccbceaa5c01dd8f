"""Finding the ports that fit a port."""

from hypothesis import given
from hypothesis import strategies as st

from tests.app.sample_blocks import Blend, Count, Scale, Show, Soften, Sparks, Wave
from warploom.app.edits.compatible import best_end, ends, refusal
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import ends_of

_TYPES = ["source", "scale", "count", "picture", "soften", "sparks", "show", "blend", "wave", "dial"]


@st.composite
def patches(draw: st.DrawFn) -> Patch:
    """Draw a patch of up to six blocks with random connections that the rules allow."""
    patch = Patch(Catalogue())
    for name in draw(st.lists(st.sampled_from(_TYPES), min_size=1, max_size=6)):
        patch.add(f"test_canvas.{name}")
    ports = _ports(patch)
    for source, target in draw(st.lists(st.tuples(st.sampled_from(ports), st.sampled_from(ports)), max_size=12)):
        try:
            patch.connect(source, target)
        except PatchError:
            continue  # most random pairs don't fit
    return patch


@given(patches())
def test_the_fitting_ports_are_those_that_the_patch_accepts(patch: Patch) -> None:
    """The fast search for fitting ports and parameters agrees with the patch's rules, for drags from either end."""
    ports = _ports(patch)
    for start in ports:
        accepted = {end for end in ports if _accepts(patch, start, end)}
        assert patch.fitting_ends(start) == accepted


def test_a_refusal_names_the_types(patch: Patch) -> None:
    """A refusal names the port's type and the offered type."""
    reason = refusal(patch, PortRef("source", "out"), PortRef("count", "x"))
    assert reason == "count.x takes elements of u32, got f32 from source.out"


def test_a_drag_from_an_input_asks_for_the_same_connection(patch: Patch) -> None:
    """A drag from an input asks for the same connection as a drag from the output."""
    out, gain = PortRef("source", "out"), PortRef("scale", "gain")
    assert ends(patch, gain, out) == ends(patch, out, gain) == (out, gain)
    assert refusal(patch, gain, out) is None


def test_the_best_end_is_the_required_one_of_the_same_type() -> None:
    """A new block is connected at a required port that fits, or not at all."""
    samples = Scale.ports["out"]
    assert best_end(Scale, samples) is Scale.ports["x"]
    assert best_end(Show, samples) is Show.ports["x"]
    assert best_end(Count, samples) is None
    assert best_end(Sparks, Soften.ports["image"]) is None


def test_the_best_parameter_for_a_value_has_its_kind() -> None:
    """A number drives the first number and a boolean the first switch; structural parameters are never driven."""
    assert best_end(Blend, Wave.values_out["value"]) is Blend.parameters["amount"]
    assert best_end(Blend, Wave.values_out["up"]) is Blend.parameters["on"]
    assert best_end(Wave, Blend.parameters["on"]) is Wave.values_out["up"]
    assert best_end(Wave, Blend.parameters["size"]) is None
    assert best_end(Scale, Wave.values_out["value"]) is None


def _ports(patch: Patch) -> list[PortRef]:
    return [PortRef(node, end.name) for node in patch.nodes for end in ends_of(patch.block_type(node) or Scale)]


def _accepts(patch: Patch, start: PortRef, end: PortRef) -> bool:
    block_type = patch.block_type(start.node) or Scale
    is_input = start.port in block_type.parameters or start.port in {port.name for port in block_type.inputs()}
    try:
        patch.check_connection(*((end, start) if is_input else (start, end)))
    except PatchError:
        return False
    return True
