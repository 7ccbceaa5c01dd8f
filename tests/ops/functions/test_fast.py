"""The fast variants, which GPUs compute with tables and the host device with polynomials."""

from typing import Any

import numpy as np
import pytest

from tests.ops.functions.oracles import NUMPY
from tests.ops.functions.running import Array, apply, compiled
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Module
from warploom.engine.ops.functions import FUNCTIONS

_FAST = tuple(name for name, function in FUNCTIONS.items() if function.fast_body is not None)


@pytest.fixture(scope="module")
def module(device: Device) -> Module:
    """All fast variants."""
    return device.load_module(compiled(_FAST, "f32", fast=True)[0])


@pytest.mark.parametrize("name", _FAST)
def test_a_fast_variant_is_near_the_function(device: Device, module: Module, name: str) -> None:
    """For arguments of usual size, errors are within 2^-18 of the result, or of 1 for small results; 2^-10 for tanh."""
    random = np.random.default_rng(1)
    positive = name.startswith(("log", "pow", "sqrt", "rsqrt"))
    given: list[Array] = [random.uniform(0.1 if positive else -1.5, 10 if positive else 1.5, 2000).astype(np.float32)]
    if FUNCTIONS[name].arity == 2:
        given.append(random.uniform(-2, 2, 2000).astype(np.float32))
    results = apply(device, module, name, given)
    wanted: Any = NUMPY[name](*(array.astype(np.float64) for array in given))
    limit = 2.0**-10 if name == "tanh" else 2.0**-18
    assert np.max(np.abs(results - wanted) / np.maximum(np.abs(wanted), 1)) < limit


def test_what_has_no_fast_variant_is_as_exact_as_ever() -> None:
    """In f64, and for functions that GPUs don't approximate, both variants are the same code."""
    names = ("exp", "asin")
    assert compiled(names, "f64", fast=True) == compiled(names, "f64")
    assert compiled(("asin",), "f32", fast=True) == compiled(("asin",), "f32")
