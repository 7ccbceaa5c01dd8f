"""Errors reach the caller of an engine: `check`, and `step` with `raise_on_error`."""

import numpy as np
import pytest

from warploom import Engine, GraphValidationError, Patch
from warploom.engine.diagnostics import Mend, PatchError


def good_and_broken() -> tuple[Patch, str]:
    """Return a patch with an array, and a formula that is wrong."""
    patch = Patch()
    patch.add("io.array", data=np.ones(3, np.float32))
    return patch, patch.add("kernel.expression", expression="sinus(x)").id


def test_check_raises_the_errors_of_the_newest_frame() -> None:
    """`check` names the node with its error, before and after frames, and nothing once it is corrected."""
    patch, broken = good_and_broken()
    with Engine(patch, device="host") as engine:
        with pytest.raises(GraphValidationError, match=f"error: {broken}: function must be one of the ops") as raised:
            engine.check()
        (error,) = raised.value.errors
        assert (error.node, raised.value.warnings) == (broken, [])
        assert error.remedy
        engine.step()  # without `raise_on_error`, frames go on
        patch.set(broken, expression="u", reads="")
        engine.step()
        engine.check()
    with pytest.raises(Exception, match="engine must be open"):
        engine.check()


def test_a_step_raises_on_request() -> None:
    """With `raise_on_error`, a step with a broken or incomplete block raises, and the next good one does not."""
    patch, broken = good_and_broken()
    with Engine(patch, device="host", raise_on_error=True) as engine:
        with pytest.raises(GraphValidationError, match=broken):
            engine.step()
        patch.remove(broken)
        assert not engine.step().diagnostics
        alone = patch.add("math.scale_offset")
        with pytest.raises(GraphValidationError) as raised:
            engine.step()
        assert [(item.node, item.mend) for item in raised.value.errors] == [(alone.id, Mend.CONNECT)]
        patch.remove(alone)
        engine.step()


def test_read_still_says_why() -> None:
    """Reading a port of a broken block has its error."""
    patch = Patch()
    wrong = patch.add("math.scale_offset")
    with Engine(patch, device="host") as engine, pytest.raises(PatchError, match="must be part of the running graph: "):
        engine.read(wrong["out"])
