"""Fixtures of the device tests, so that compiled kernels run on the host device."""

from tests.device.conftest import (
    apply,
    cuda_ptx,
    dialect,
    host,
    optimised_host,
    own_cache,
    quick_host,
    run,
    run_optimised,
)

__all__ = ["apply", "cuda_ptx", "dialect", "host", "optimised_host", "own_cache", "quick_host", "run", "run_optimised"]
