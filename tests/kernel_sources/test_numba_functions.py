"""The functions that numba would link have numpy's results, without numba."""

import numpy as np
import pytest

from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.python.numba_functions import with_functions

TYPES = ("b64", "b64", "b64", "b64", "b64", "b64", "b64", "b32")
PTX = f""".version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) numba_attempt_nocopy_reshape
(
    {", ".join(f".param .{kind} p{i}" for i, kind in enumerate(TYPES))}
)
;
.visible .entry reshape({", ".join(f".param .{kind} a{i}" for i, kind in enumerate(TYPES))}, .param .u64 made)
{{
    .reg .b64 %d<9>; .reg .b32 %r<2>;
    {" ".join(f"ld.param.{kind} %{'d' if kind == 'b64' else 'r'}{i % 7}, [a{i}];" for i, kind in enumerate(TYPES))}
    ld.param.u64 %d8, [made];
    {{
        {
    " ".join(
        f".param .{kind} q{i}; st.param.{kind} [q{i}], %{'d' if kind == 'b64' else 'r'}{i % 7};"
        for i, kind in enumerate(TYPES)
    )
}
        .param .b32 back;
        call.uni (back), numba_attempt_nocopy_reshape, ({", ".join(f"q{i}" for i in range(8))});
        ld.param.b32 %r1, [back];
    }}
    st.global.u32 [%d8], %r1;
    ret;
}}
"""


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_reshape_has_the_strides_of_numpy(device: Device, order: str) -> None:
    """For random views, an array has numpy's strides in another shape, or none where numpy would have to copy."""
    kernel = device.load_module(with_functions(PTX)).kernel("reshape")
    random = np.random.default_rng(7)
    tried = {True: 0, False: 0}
    for _ in range(150):
        base = np.zeros(random.choice([1, 2, 3, 4, 6], random.integers(1, 5)))
        view = base[tuple(slice(None, None, int(random.choice([1, 1, 2, -1]))) for _ in base.shape)]
        view = view.transpose(random.permutation(view.ndim)) if random.random() < 0.4 else view
        shape = [int(n) for n in random.permutation([1, 1, *_factors(view.size, random)])]
        shape = shape[: len(shape) - int(random.integers(0, 3))] if np.prod(shape) == 1 else shape
        try:
            wanted = np.reshape(view, shape, order=order, copy=False)  # type: ignore[call-overload]
        except ValueError:
            wanted = None
        lists = [np.array(each or [0], np.int64) for each in (view.shape, view.strides, shape, [0] * len(shape))]
        dims, strides, new_dims, new_strides = map(device.upload, lists)
        made = device.upload(np.zeros(1, np.int32))
        rank, new_rank = np.int64(view.ndim), np.int64(len(shape))
        given = (rank, dims, strides, new_rank, new_dims, new_strides, np.int64(8), np.int32(order == "F"), made)
        device.launch(kernel, (1,), (1,), given)
        device.synchronize()
        assert made.download()[0] == (wanted is not None), (view.shape, view.strides, shape)
        tried[wanted is not None] += 1
        if wanted is not None:
            found = new_strides.download()[: len(shape)]
            assert all(n == 1 or a == b for n, a, b in zip(shape, found, wanted.strides, strict=True))
        for each in (dims, strides, new_dims, new_strides, made):
            each.free()
    assert min(tried.values()) > 20


def _factors(size: int, random: np.random.Generator) -> list[int]:
    """Return random factors whose product is a size."""
    found = []
    while size > 1:
        factor = int(random.choice([n for n in range(2, size + 1) if size % n == 0]))
        found.append(factor)
        size //= factor
    return found
