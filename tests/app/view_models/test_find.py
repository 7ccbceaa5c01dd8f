"""What the field of *Find* lists."""

from warploom.app.view_models.lists.find import find
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch


def test_equal_blocks_are_told_apart_and_listed_as_they_lie() -> None:
    """Each of many blurs says what feeds it, and its comment and values; a block that is alone says its type."""
    patch = Patch()
    noise = patch.add("image.noise", title="Clouds")
    places = {"low": (0.0, 400.0), "right": (300.0, 10.0), "left": (20.0, 10.0)}
    for node, place in places.items():
        patch.add("image.gaussian_blur", node_id=node, position=place)
    patch.set("right", sigma=7.5)
    patch.set_comment("low", "Softens\nthe edge")
    patch.connect(noise["out"], PortRef("left", "image"))
    found = find(patch, "blur")
    assert [hit.id for hit in found] == ["left", "right", "low"]
    assert [hit.why for hit in found] == ["after Clouds, left", "sigma 7.5, right", "Softens the edge, low"]
    (alone,) = find(patch, "clouds")
    assert alone.why == "image.noise"


def test_long_values_of_equal_blocks_leave_their_ids_in_one_line() -> None:
    """Blocks whose values have many lines have one line each in the list, and no two look alike."""
    patch = Patch()
    for node in ("first", "second"):
        patch.add("image.text", node_id=node, text="a line\n" * 100)
    whys = [hit.why for hit in find(patch, "text")]
    assert len(set(whys)) == 2
    assert all("\n" not in why and why.endswith(node) for why, node in zip(whys, ("first", "second"), strict=True))
