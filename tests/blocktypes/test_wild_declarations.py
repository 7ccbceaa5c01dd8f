"""A declaration with arbitrary arguments either works or is refused with its name and line."""

from inspect import signature
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.model.authors import THINGS
from warploom import Patch
from warploom.api import (
    Block,
    BlockBuilder,
    In,
    Moment,
    Value,
    ValueBlock,
    f32,
    param,
    port,
    value_port,
)
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.runtime.check.check_patch import check_patch

#: Valid arguments for every function that declares.
DECLARING: dict[str, dict[str, Any]] = {
    "port": {
        "doc": "In.",
        "shape": "same",
        "rank": 1,
        "optional": True,
        "inplace": None,
        "state": False,
        "dtype": None,
        "strided": True,
        "delayed": False,
        "default": 1.0,
        "append": False,
        "advised": True,
        "replaces": ("old",),
    },
    "param": {
        "default": 2,
        "doc": "Parameter.",
        "min": 1,
        "max": 3,
        "unit": "m",
        "choices": (),
        "structural": True,
        "files": "",
        "replaces": ("before",),
        "language": "",
        "fresh": False,
        "restarts": False,
        "offers": False,
    },
    "value_port": {"doc": "Value.", "unit": "m", "replaces": ("said",)},
    "class": {
        "id": "test_def.tried",
        "version": 2,
        "category": "Test",
        "title": "Tried",
        "tags": ("a",),
        "regions": (),
    },
}


CALLED = {"port": port, "param": param, "value_port": value_port}


#: Arguments that can be made without a block.
GIVEN: list[Any] = [thing(None, None) for thing in THINGS[:80]]  # type: ignore[arg-type]


def test_everything_that_declares_is_tried_with_all_its_arguments() -> None:
    """The tests try every argument of every declaring function; those of `Block` are class keywords."""
    for name, call in {**CALLED, "class": Block.__init_subclass__}.items():
        assert set(signature(call).parameters) - {"abstract"} == set(DECLARING[name]), name


@given(st.sampled_from(sorted(DECLARING)), st.data())
@settings(max_examples=many(100))
def test_a_declaration_is_refused_with_name_and_line_or_works(kind: str, data: st.DataObject) -> None:
    """Blocks with one or two arbitrary arguments can be checked in a patch, or are refused with name and line."""
    asked = {name: dict(arguments) for name, arguments in DECLARING.items()}
    for name in data.draw(st.lists(st.sampled_from(sorted(asked[kind])), min_size=1, max_size=2, unique=True)):
        asked[kind][name] = GIVEN[data.draw(st.integers(0, len(GIVEN) - 1))]
    try:

        class Tried(Block, **asked["class"]):
            """Test a declaration."""

            x: In[f32] = port(**asked["port"])
            n: int = param(**asked["param"])

            def describe(self, build: BlockBuilder) -> None:
                pass

        class Told(ValueBlock, id="test_def.told"):
            """Test a declaration of a value."""

            out: Value[float] = value_port(**asked["value_port"])

            def update(self, now: Moment) -> None:
                pass

    except BlockDefinitionError as problem:
        found = code_diagnostic(problem, "block file", Path(__file__))
        assert found.file == __file__ and found.line
        names = ("Tried: ", "Told: ", "block test_def.", "value block test_def.", "block id ")
        assert found.message.startswith(names), found.message
        assert " must " in found.message, found.message
    else:
        patch = Patch()
        patch.add(Tried.id)
        patch.add("test_def.told")
        assert check_patch(patch) is not None
