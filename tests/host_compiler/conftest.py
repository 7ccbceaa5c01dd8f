"""Fixtures of the device tests, so that compiled kernels run on the host device."""

from tests.device.conftest import (
    apply,
    cuda_ptx,
    host,
    optimised_host,
    own_cache,
    pytest_generate_tests,
    quick_host,
    run,
    run_optimised,
)

__all__ = [
    "apply",
    "cuda_ptx",
    "host",
    "optimised_host",
    "own_cache",
    "pytest_generate_tests",
    "quick_host",
    "run",
    "run_optimised",
]
