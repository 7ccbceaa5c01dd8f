"""OSC without a block: addresses of parameters, and the settings of a patch."""

import pytest

from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.organise.osc import Osc, OscOut
from warploom.engine.patch.organise.osc_addresses import OscTable, osc_address, osc_names, osc_table


def test_addresses_follow_titles_and_are_unique() -> None:
    """A block without a title has its id; equal titles get numbers, and none takes the id of another block."""
    patch = Patch()
    for title in ("", "Soft Glow", "Soft glow!", "  ", "a"):
        patch.add("value.lfo", title=title)
    patch.add("value.lfo", node_id="a", title="Größe 2")
    names = osc_names(patch)
    addresses = [osc_address(patch, PortRef(node, "amplitude"), names) for node in patch.nodes]
    found = ["lfo", "soft_glow", "soft_glow_2", "lfo_4", "a_2", "groe_2"]
    assert addresses == [f"/{name}/amplitude" for name in found]


def test_addresses_do_not_depend_on_the_order_of_edits() -> None:
    """Blocks of the same title keep their addresses when one of them is removed and comes back."""
    patch = Patch()
    first, _ = patch.add("value.lfo", title="Glow"), patch.add("value.lfo", title="Glow")
    names = osc_names(patch)
    patch.remove(first)
    patch.undo()
    assert osc_names(patch) == names


def test_a_parameter_of_a_group_sets_those_of_its_blocks() -> None:
    """Messages to a group's parameter go to the blocks inside; the engine does not know groups."""
    patch = Patch()
    lfo = patch.add("value.lfo")
    group = patch.group([lfo.id], "Sway")
    patch.promote(lfo["amplitude"], "height")
    patch.annotate(Osc(port=9000))
    patch.annotate(OscOut(node=group.id, port="height", to="10.0.0.7:7000"))
    table = osc_table(patch)
    assert table.groups[f"{group.id}/height"] == (PortRef("lfo", "amplitude"),)
    assert table.names.get("sway", "sway") == group.id
    (out,) = table.outs
    assert (out.port, out.host, out.number) == (PortRef("lfo", "amplitude"), "10.0.0.7", 7000)
    assert out.address == osc_address(patch, PortRef(group.id, "height"))


def test_a_removed_block_takes_its_output_along() -> None:
    """It comes back with the block by undo; a patch without settings has an empty table."""
    patch = Patch()
    lfo = patch.add("value.lfo")
    assert osc_table(patch) == OscTable()
    patch.annotate(OscOut(node="lfo", port="value"))
    patch.remove(lfo)
    assert not patch.annotations and osc_table(patch) == OscTable()
    patch.undo()
    assert len(osc_table(patch).outs) == 1


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (Osc(port=70_000), "OSC port must be from 1 to 65535, or 0 to listen to none, got 70000"),
        (Osc(host="300.1.2.3"), "OSC host must be a host such as 127.0.0.1 or 0.0.0.0, got '300.1.2.3'"),
        (Osc(to="a b.local:9001"), "OSC must be sent to a host and port such as 127.0.0.1:9001 or mixer.local:9001"),
        (Osc(to="localhost"), "OSC must be sent to a host and port such as 127.0.0.1:9001 or mixer.local:9001, got"),
        (OscOut(node="a", port="b", address="/a b"), "OSC address must be such as /mixer/fader"),
        (OscOut(node="a", port="b", address="/a/*"), "OSC address must be such as /mixer/fader"),
        (OscOut(node="a", port="b", to="1.2.3.4:0"), "OSC must be sent to a host and port"),
    ],
)
def test_wrong_settings_are_refused(note: Osc | OscOut, text: str) -> None:
    """One message names the rule."""
    with pytest.raises(PatchError) as raised:
        Patch().annotate(note)
    assert str(raised.value).startswith(text)
