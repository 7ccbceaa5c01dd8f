"""Arrays of booleans and of complex numbers can be stored in a patch, saved, loaded, uploaded and read back."""

import json
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import dump_patch, parse_patch

ARRAYS = [
    np.array([True, False, True]),
    np.array([[1 + 2j, -3j], [np.inf, 0.5]], np.complex64),
    np.array([1e300 - 1e-300j]),
    np.array(True),
    np.array([1, 65535], np.uint16),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_an_array_comes_back_from_the_device_as_it_was(array: np.ndarray[Any, Any]) -> None:
    """An array that is uploaded, copied by a block and read back is unchanged."""
    patch = Patch()
    source = patch.add("io.array", data=array)
    copy = patch.add("buffer.copy")
    patch.connect(source["out"], copy["x"])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        found = engine.read(copy["out"])
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_an_array_is_saved_in_the_patch(array: np.ndarray[Any, Any]) -> None:
    """A patch file keeps an array's dtype, its shape and every bit."""
    patch = Patch()
    node = patch.add("io.array", data=array)
    found = parse_patch(dump_patch(patch)).nodes[node.id].parameters["data"]
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize(
    ("dtype", "data", "message"),
    [
        ("|b1", "AgE=", "booleans must be bytes 0 or 1, got 2"),
        ("|b2", "AgE=", "dtype must be numeric, such as '<f4', got '|b2'"),
        ("<c4", "AgE=", "dtype must be numeric, such as '<f4', got '<c4'"),
        ("<c32", "AgE=", "dtype must be numeric, such as '<f4', got '<c32'"),
        ("|O", "AgE=", "dtype must be numeric, such as '<f4', got '|O'"),
    ],
)
def test_a_file_with_other_values_is_refused(dtype: str, data: str, message: str) -> None:
    """A boolean that is neither 0 nor 1 would be undefined in a kernel, so the file is refused."""
    value = {"dtype": dtype, "shape": [2], "base64": data}
    node = {"id": "a", "type": "io.array", "version": 1, "position": [0, 0], "parameters": {"data": value}}
    with pytest.raises(PatchError) as refused:
        parse_patch(json.dumps({"schema": 1, "nodes": [node], "connections": []}))
    assert message in str(refused.value)
