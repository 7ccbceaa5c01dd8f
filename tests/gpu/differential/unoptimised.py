"""Loads PTX on the GPU without optimisation, which is level 0 of the driver's compiler."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cuda.bindings import driver


@contextmanager
def unoptimised() -> Iterator[None]:
    """Load modules without optimisation inside this context."""
    load = driver.cuModuleLoadDataEx

    def load_plainly(image: bytes, count: int, options: list[Any], values: list[Any]) -> Any:
        return load(image, count + 1, [*options, driver.CUjit_option.CU_JIT_OPTIMIZATION_LEVEL], [*values, 0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "cuModuleLoadDataEx", load_plainly)
        yield
