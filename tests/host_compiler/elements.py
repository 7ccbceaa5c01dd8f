"""Runs many PTX forms over arrays with one compilation: eight forms in each kernel, all kernels in one module."""

import numpy as np

from warploom.engine.device.host.device import HostDevice

_WIDTHS = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64, "bf16": 16, "pred": 8}
BLOCK = 64
GROUP = 8  # forms in one kernel: compiling a loop over threads takes longer than running it


def width(kind: str) -> int:
    """Return the bits of a PTX type."""
    return _WIDTHS.get(kind) or int(kind.lstrip("busf"))


def dtype(kind: str) -> np.dtype:
    """Return the numpy type for a PTX type, or the unsigned integer of its size if numpy lacks the type."""
    letter = {"s": "i", "f": "f"}.get(kind[0], "u") if kind not in _WIDTHS else "u"
    return np.dtype(f"{letter}{width(kind) // 8}")


def evaluate(
    host: HostDevice, forms: list[str], result: str, kinds: tuple[str, ...], *arrays: np.ndarray
) -> dict[str, np.ndarray]:
    """Return each form's result for every element of the arrays.

    A form is PTX lines in which `%d` is the result and `%a`, `%b`, `%c` and `%e` are the sources; `%p` and `%q` are
    predicates, `%t0` to `%t7` 32-bit and `%x0` to `%x7` 64-bit registers.
    """
    count = len(arrays[0])
    padded = -(-count // BLOCK) * BLOCK
    groups = [forms[first : first + GROUP] for first in range(0, len(forms), GROUP)]
    params = ", ".join([*(f".param .u64 p{index}" for index in range(len(kinds))), ".param .u64 out"])
    text = [".version 8.6", ".target sm_100", ".address_size 64"]
    for number, group in enumerate(groups):
        text += [f".visible .entry k{number}({params}) {{", ".reg .b32 %i, %j;", ".reg .b64 %base, %at, %out;"]
        text += ["mov.u32 %i, %tid.x;", "mov.u32 %j, %ctaid.x;", f"mad.lo.u32 %i, %j, {BLOCK}, %i;"]
        for position, kind in enumerate(kinds):
            name, size = "abce"[position], width(kind)
            text += [f".reg .b{max(size, 16)} %{name};", f"ld.param.u64 %base, [p{position}];"]
            text += [f"mad.wide.u32 %at, %i, {size // 8}, %base;", f"ld.global.b{size} %{name}, [%at];"]
        size = width(result) // 8
        text += ["ld.param.u64 %base, [out];", f"mad.wide.u32 %out, %i, {size}, %base;"]
        for index, form in enumerate(group):
            text += ["{", ".reg .pred %p, %q;", ".reg .b32 %t<8>;", ".reg .b64 %x<8>;"]
            text += [
                f".reg .b{max(8 * size, 16)} %d;",
                form,
                f"st.global.b{8 * size} [%out+{index * size * padded}], %d;",
                "}",
            ]
        text += ["ret;", "}"]
    module = host.load_module("\n".join(text))
    sources = [host.upload(np.resize(array, padded)) for array in arrays]
    found = {}
    for number, group in enumerate(groups):
        target = host.upload(np.zeros((len(group), padded), dtype(result)))
        host.launch(module.kernel(f"k{number}"), (padded // BLOCK,), (BLOCK,), [*sources, target])
        found |= dict(zip(group, target.download()[:, :count], strict=True))
        target.free()
    for source in sources:
        source.free()
    return found
