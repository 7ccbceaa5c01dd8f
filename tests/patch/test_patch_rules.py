"""Edits that the patch refuses, and the messages."""

import numpy as np
import pytest

from warploom.api import Block, BlockBuilder, In, Out, any_type, f32, param, port, s32
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.naming import Names
from warploom.engine.patch.rules import ConnectionRefused, TypeMismatch, UnknownPort, WouldCycle, WrongDirection


@pytest.fixture
def patch() -> Patch:
    """A patch of three blocks: whole numbers, a pass-through of numbers, and one that accepts anything."""

    class Whole(Block, id="test_rules.whole"):
        """Whole numbers."""

        out: Out[s32] = port(shape="[4]", doc="Numbers.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Pass(Block, id="test_rules.pass", title="Pass"):
        """Pass numbers through."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(doc="Numbers.")
        gain: float = param(1.0, min=0, max=2, doc="Gain.")
        mode: str = param("a", choices=("a", "b"), doc="Mode.")
        count: int = param(1, doc="Count.")
        on: bool = param(True, doc="On.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Anything(Block, id="test_rules.anything"):
        """Pass anything through."""

        x: In[any_type] = port(doc="Anything.")
        out: Out[any_type] = port(dtype="same(x)", doc="The same.")

        def describe(self, build: BlockBuilder) -> None: ...

    patch = Patch()
    for name in ("whole", "pass", "anything"):
        patch.add(f"test_rules.{name}", node_id=name)
    for name in ("b", "c"):
        patch.add("test_rules.pass", node_id=name)
    return patch


def refuse(patch: Patch, source: str, target: str) -> ConnectionRefused:
    ends = [PortRef(*text.split(".")) for text in (source, target)]
    before = patch.connections
    with pytest.raises(ConnectionRefused) as refused:
        patch.connect(*ends)
    assert patch.connections == before
    return refused.value


def test_source_must_be_an_output_and_target_an_input(patch: Patch) -> None:
    """A connection runs from an output to an input, never the other way."""
    problem = refuse(patch, "pass.x", "b.x")
    assert type(problem) is WrongDirection
    assert str(problem) == "source pass.x must be an output, got an input"
    problem = refuse(patch, "pass.out", "b.out")
    assert type(problem) is WrongDirection
    assert str(problem) == "target b.out must be an input, got an output"


def test_element_types_must_match(patch: Patch) -> None:
    """Whole numbers can't feed an input of floats, but can feed an input of any type."""
    problem = refuse(patch, "whole.out", "pass.x")
    assert type(problem) is TypeMismatch
    assert str(problem) == "pass.x takes elements of f32, got s32 from whole.out"
    patch.connect(patch["whole"]["out"], patch["anything"]["x"])
    patch.connect(patch["anything"]["out"], patch["pass"]["x"])  # the type is known only once shapes are


def test_the_elements_of_an_array_must_match() -> None:
    """An array of f64 is refused where a kernel takes f32, in a group too; a patch with such a connection opens."""
    patch = Patch()
    array, scale = patch.add("io.array", data=np.arange(3, dtype=np.float64)), patch.add("math.saxpy")
    with pytest.raises(TypeMismatch, match=r"saxpy\.x takes elements of f32, got f64 from array\.out"):
        patch.connect(array["out"], scale["x"])
    assert scale["x"] not in patch.fitting_ends(array["out"]) and array["out"] not in patch.fitting_ends(scale["x"])
    patch.connect(array["out"], patch.add("buffer.convert")["x"])
    patch.set(array, data=np.arange(3, dtype=np.float32))
    assert scale["x"] in patch.fitting_ends(array["out"]) and array["out"] in patch.fitting_ends(scale["x"])
    patch.connect(array["out"], scale["x"])
    group = patch.group([scale])
    patch.set(array, data=np.arange(3, dtype=np.float64))
    assert parse_patch(dump_patch(patch)).connections == patch.connections
    patch.disconnect(group["x"])
    with pytest.raises(TypeMismatch, match=r"got f64 from array\.out"):
        patch.connect(array["out"], group["x"])


def test_ports_must_exist(patch: Patch) -> None:
    """An unknown port is refused, and the message lists the existing ports."""
    problem = refuse(patch, "pass.out", "b.y")
    assert type(problem) is UnknownPort
    assert str(problem) == "port of b must be one of x, out, got 'y'"
    with pytest.raises(UnknownPort, match="port of pass must be one of x, out, got 'result'"):
        patch["pass"]["result"]


def test_a_cycle_is_refused_and_its_way_named(patch: Patch) -> None:
    """A cycle is refused, and the message names every node in it."""
    patch.connect(patch["pass"]["out"], patch["b"]["x"])
    patch.connect(patch["b"]["out"], patch["c"]["x"])
    problem = refuse(patch, "c.out", "pass.x")
    assert type(problem) is WouldCycle
    assert str(problem) == "connection c.out -> pass.x must not close a cycle, got c -> pass -> b -> c"
    assert str(refuse(patch, "c.out", "c.x")) == "connection c.out -> c.x must not close a cycle, got c -> c"


def test_a_connection_that_replaces_the_one_which_closes_the_cycle_is_allowed(patch: Patch) -> None:
    """A connection that replaces the one that would close the cycle is allowed, so two nodes can be swapped."""
    patch.connect(patch["pass"]["out"], patch["b"]["x"])
    patch.add("io.array", node_id="array")
    patch.disconnect(patch["b"]["x"])
    patch.connect(patch["b"]["out"], patch["pass"]["x"])
    assert [str(c) for c in patch.connections] == ["b.out -> pass.x"]


def test_checking_a_long_chain_is_quick(patch: Patch) -> None:
    """A ladder of 200 rungs has 2**200 paths and is still checked at once."""
    for i in range(200):
        patch.add("math.saxpy", node_id=f"n{i}")
    for i in range(199):
        for name in ("x", "y"):
            patch.connect(PortRef(f"n{i}", "out"), PortRef(f"n{i + 1}", name))
    problem = refuse(patch, "n199.out", "n0.x")
    assert type(problem) is WouldCycle


def test_connecting_an_input_again_replaces_its_connection_in_one_step(patch: Patch) -> None:
    """A second connection to an input replaces the first in one undo step."""
    patch.connect(patch["pass"]["out"], patch["c"]["x"])
    patch.connect(patch["b"]["out"], patch["c"]["x"])
    assert [str(c) for c in patch.connections] == ["b.out -> c.x"]
    patch.undo()
    assert [str(c) for c in patch.connections] == ["pass.out -> c.x"]


def test_making_the_same_connection_twice_is_no_edit(patch: Patch) -> None:
    """Making the same connection twice adds no undo step."""
    patch.connect(patch["pass"]["out"], patch["c"]["x"])
    steps = len(patch.history.names)
    patch.connect(patch["pass"]["out"], patch["c"]["x"])
    assert len(patch.history.names) == steps


def test_only_a_connection_of_the_patch_can_be_taken_away(patch: Patch) -> None:
    """A connection that is not in the patch can't be removed, whether it is named by both ends or its input."""
    made = patch.connect(patch["pass"]["out"], patch["c"]["x"])
    with pytest.raises(PatchError, match=r"connection must be in the patch, got b\.x"):
        patch.disconnect(patch["b"]["x"])
    patch.disconnect(made)
    with pytest.raises(PatchError, match=r"connection must be in the patch, got pass\.out -> c\.x"):
        patch.disconnect(made)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gain": 3}, "parameter gain must be at most 2, got 3"),
        ({"gain": -0.5}, "parameter gain must be at least 0, got -0.5"),
        ({"gain": float("nan")}, "parameter gain must be a finite number, got nan"),
        ({"gain": "1"}, "parameter gain must be a finite number, got '1'"),
        ({"gain": True}, "parameter gain must be a finite number, got True"),
        ({"gain": 10**400}, f"parameter gain must be a finite number, got 1{'0' * 199}..."),
        ({"count": 1.5}, "parameter count must be a whole number, got 1.5"),
        ({"on": 1}, "parameter on must be true or false, got 1"),
        ({"mode": "c"}, "parameter mode must be one of a, b, got 'c'"),
        ({"size": 1}, "test_rules.pass: parameter must be one of gain, mode, count, on, got 'size'"),
        ({"gain": 1.5, "mode": 4}, "parameter mode must be text, got 4"),
    ],
)
def test_parameter_values_are_checked(patch: Patch, values: dict[str, object], message: str) -> None:
    """A call of `set` with a wrong value is refused as a whole."""
    with pytest.raises(PatchError) as refused:
        patch.set("pass", **values)
    assert str(refused.value) == message
    assert patch.nodes["pass"].parameters == {}


def test_arrays_must_be_numeric_and_not_empty() -> None:
    """Text, empty arrays, rows of different lengths, and masked elements, which would be lost, are refused."""
    patch = Patch()
    array = patch.add("io.array")
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for value in ("abc", [], [[1, 2], [3]], np.zeros((0, 3)), masked, None):
        with pytest.raises(
            PatchError,
            match="data must be a non-empty array of numbers of at most 64 bits with no masked elements, got",
        ):
            patch.set(array, data=value)
    patch.set(array, data=masked[:1])


def test_whole_numbers_keep_every_digit(patch: Patch) -> None:
    """An int parameter keeps numbers above 2**53, which a float can't hold."""
    patch.set("pass", count=2**53 + 1)
    assert patch.value("pass", "count") == 2**53 + 1
    patch.set("pass", count=4.0)
    assert patch.value("pass", "count") == 4
    assert type(patch.value("pass", "count")) is int


def test_a_scalar_array_keeps_its_empty_shape() -> None:
    """A number given as an array has no dimensions, in the patch and in the block's output."""
    from warploom.engine.blocktypes.describing import describe

    patch = Patch()
    node = patch.add("io.array", data=np.float32(2.5))
    assert patch.value(node, "data").shape == ()
    block_type = patch.block_type(node.id)
    assert block_type is not None
    assert describe(block_type("n", {"data": np.float32(2.5)})).contents["out"].shape == ()


def test_nodes_must_be_known_and_ids_new_and_without_dots(patch: Patch) -> None:
    """Unknown nodes, ids in use, and ids with a dot are refused."""
    with pytest.raises(PatchError, match="node must be one of whole, pass, anything, b, c, got 'x'"):
        patch["x"]
    with pytest.raises(PatchError, match="node must be one of no nodes, got 'x'"):
        Patch().remove("x")
    with pytest.raises(PatchError, match="node id must be new in the patch, got 'b'"):
        patch.add("test_rules.pass", node_id="b")
    with pytest.raises(PatchError, match=r"node id must not hold a dot, which separates node and port, got 'b\.x'"):
        patch.add("test_rules.pass", node_id="b.x")


def test_unknown_block_types_are_refused_with_a_suggestion() -> None:
    """A misspelt type gets the nearest name as a suggestion, a strange one the command that lists all types."""
    with pytest.raises(
        PatchError, match=r"block type must be in the catalogue, got 'math.saxp'; did you mean math.saxpy"
    ):
        Patch().add("math.saxp")
    with pytest.raises(PatchError, match="got 'zzz'; `warploom blocks` lists them"):
        Patch().add("zzz")


def test_ids_are_made_from_the_type_and_never_repeat() -> None:
    """The first block of a type gets the plain name and later ones a number; ids of removed blocks are not reused."""
    patch = Patch()
    assert [patch.add("io.array").id for _ in range(3)] == ["array", "array_2", "array_3"]
    patch.remove("array_2")
    assert patch.add("io.array").id == "array_4"
    for node in ("array", "array_3", "array_4"):
        patch.remove(node)
    assert [patch.add("io.array").id for _ in range(2)] == ["array_5", "array_6"]
    patch.undo()
    assert patch.add("io.array").id == "array_7"


def test_new_names_are_unused_and_follow_the_highest_number() -> None:
    """A new name is the stem, or the stem with a number above those of all names with that stem."""
    names = Names(["glow", "glow_2", "glow_9", "glow_x_30", "glow_٤٤x", "_7", "a_b", "a_b_2", "a_0"])
    expected = {"glow": "glow_10", "glow_x": "glow_x", "a_b": "a_b_3", "a": "a", "": ""}
    assert {stem: names.free(stem) for stem in expected} == expected
    for stem in ("glow", "a_b", "new"):
        for _ in range(3):
            assert names.free(stem) not in names
            names.add(names.free(stem))
    assert "new_3" in names


def test_a_node_whose_id_is_only_a_number_can_be_copied() -> None:
    """Its copy's number is higher."""
    patch, clip = Patch(), Patch()
    for each in (patch, clip):
        each.add("math.saxpy", node_id="_7")
    patch.insert(clip)
    assert list(patch.nodes) == ["_7", "_7_2"]


def test_insert_copies_nodes_and_what_connects_them_under_free_ids() -> None:
    """Inserted nodes keep the connections between them and get free ids, in one undo step."""
    patch, clip = Patch(), Patch()
    patch.add("io.array", node_id="array")
    a, b = clip.add("io.array", node_id="array", position=(1.0, 2.0)), clip.add("math.saxpy", node_id="saxpy", a=5.0)
    clip.connect(a["out"], b["x"])
    ids = patch.insert(clip, offset=(10.0, 10.0))
    assert ids == {"array": "array_2", "saxpy": "saxpy"}
    assert [str(c) for c in patch.connections] == ["array_2.out -> saxpy.x"]
    assert patch.nodes["array_2"].position == (11.0, 12.0)
    assert patch.value("saxpy", "a") == 5.0
    patch.undo()
    assert list(patch.nodes) == ["array"]


def test_titles_are_the_types_until_a_person_gives_one(patch: Patch) -> None:
    """An empty title returns to the block type's title; a node of an unknown type shows the type's id."""
    assert patch.title("pass") == "Pass"
    patch.rename("pass", "Gain stage")
    assert patch.title("pass") == "Gain stage"
    patch.rename("pass", "")
    assert patch.title("pass") == "Pass"


def test_what_belongs_to_another_patch_is_refused() -> None:
    """Nodes of another patch may have the same ids and are refused; equal ports are interchangeable."""
    mine, other = Patch(), Patch()
    for patch in (mine, other):
        patch.connect(patch.add("io.array")["out"], patch.add("buffer.copy")["x"])
    theirs, target = other["array"]["out"], mine["copy"]["x"]
    assert theirs == mine["array"]["out"] == PortRef("array", "out")
    assert len({theirs, mine["array"]["out"], PortRef("array", "out")}) == 1
    for wrong in (
        lambda: mine.connect(theirs, target),
        lambda: mine.connect(mine["array"]["out"], other["copy"]["x"]),
        lambda: mine.disconnect(other["copy"]["x"]),
        lambda: mine.fitting_ends(theirs),
        lambda: mine.set(other["array"], data=[1]),
        lambda: mine.remove(other["array"]),
    ):
        with pytest.raises(PatchError, match="must be of this patch, got one of another"):
            wrong()
    mine.connect(PortRef("array", "out"), target)
    assert all(type(end) is PortRef for c in mine.connections for end in (c.source, c.target))


@pytest.mark.parametrize(
    ("block", "values", "rule"),
    [
        ("kernel.expression", {"expression": "x +"}, "must be written in Python's syntax, .* at column 4"),
        ("kernel.expression", {"expression": "sinus(x)"}, "function must be one of the ops, .*got 'sinus'"),
        (
            "kernel.cuda",
            {"code": "__global__ void f(float* x) { x[0] = ; }"},
            r"kernel text\(1\): expected an expression",
        ),
    ],
)
def test_a_block_without_ports_is_refused_with_the_error_of_its_values(
    block: str, values: dict[str, str], rule: str
) -> None:
    """A block whose formula or kernel is wrong has no ports; a connection to it raises that error."""
    patch = Patch()
    wrong = patch.add(block, **values)
    rule = rf"node {wrong.id} must be right to have the port 'x', [\s\S]*{rule}"
    with pytest.raises(UnknownPort, match=rule):
        _ = wrong["x"]
    with pytest.raises(UnknownPort, match=rule) as raised:
        patch.connect(patch.add("buffer.constant")["out"], PortRef(wrong.id, "x"))
    assert raised.value.remedy
