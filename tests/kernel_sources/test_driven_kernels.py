"""A kernel that reads numbers from memory computes the same as the general kernel with these numbers as arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.kernel_sources.test_specialise import FIR, HEAD, WIDTHS, X, run, storing
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.device.arguments import ArgumentError, pack
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.element_types.declared import typed_parameters
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import find_source, load_image
from warploom.engine.kernel_sources.sources import (
    CudaFile,
    CudaText,
    DrivenKernel,
    OpGraphSource,
    PtxFile,
    SpecialisedKernel,
)
from warploom.engine.kernel_sources.specialise import NUMBER_RECORD, driven_cuda, driven_ptx, number_field
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.ptx import parse
from warploom.engine.types import NAMED, f32
from warploom.engine.values.wiring import Drive

NUMBERS = (
    *(0.0, -0.0, 0.1, 0.5, 1.5, 2.5, -0.3, -2.5, 1e-45, 1.00146484375, 1 + 2**-8 + 2**-30, 200.0, -129.0, 4e4),
    *(3e9, -3e9, 2.0**63, 1e19, 1e300, -1e300),
)
KINDS = {"float": 0, "int": 1, "bool": 2}


def record(device: Device, number: float, spec: ParameterSpec) -> Any:
    """Return the record, on the device, of a number for a block's parameter."""
    image = load_image(CudaFile(str(KERNELS_FOLDER / "numbers.cu")), device.info.architecture)
    module = device.load_module(image.payload(device.info.architecture))
    low, high = spec.driven_range
    source = device.upload(np.array([number], np.float64))
    made = device.upload(np.zeros(NUMBER_RECORD.itemsize // 8, np.uint64))
    least, most = (int(low), min(int(high), 2**63 - 1)) if spec.type == "int" else (0, 0)
    args = [source, made, KINDS[spec.type], float(low), float(high), least, most]
    device.launch(module.kernel("convert_number"), grid=(1,), thread_block=(1,), args=args)
    device.synchronize()
    return made


def on_the_cpu(number: float, spec: ParameterSpec) -> Any:
    """Return what a connection writes into the parameter store for a number."""
    drive = Drive(Connection(PortRef("a", "b"), PortRef("c", "d")), spec, None, lambda _: None)
    drive.put(number)
    return drive.value


@pytest.mark.parametrize("bounds", [(None, None), (-3, 100), (1, 1), (0, 2**64 - 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_has_what_the_cpu_would_pack(device: Device, kind: str, bounds: tuple[Any, Any]) -> None:
    """For every type of a kernel's parameter, a field has the bytes that the same number has as an argument."""
    low, high = bounds if kind != "bool" else (None, None)
    spec = ParameterSpec("d", kind, 0, "", low, high)
    for number in NUMBERS:
        found = record(device, number, spec).download().view(NUMBER_RECORD)[0]
        compared = 0
        for name in NUMBER_RECORD.names or ():
            parameter = _parameter(name)
            assert number_field(parameter, kind) == name
            try:
                wanted = pack(parameter, on_the_cpu(number, spec))
            except ArgumentError:  # the CPU refuses it; memory has the nearest number of the type
                continue
            assert found[name].tobytes() == wanted, (name, number)
            compared += 1
        assert compared >= 2


def _parameter(name: str) -> Any:
    text = f"{HEAD}.visible .entry k(.param .b{8 * NAMED[name].size_bytes} a) {{ ret; }}"
    return replace(parse(text).signatures["k"].parameters[0], declared=name)


@pytest.mark.parametrize(
    ("kind", "register", "field"),
    [
        *[("u8", "b16", "s64"), ("s8", "b32", "s8"), ("u16", "b16", "s64"), ("s16", "b64", "s16")],
        *[("u32", "b32", "s64"), ("s32", "b64", "s32"), ("u64", "b64", "s64"), ("s64", "b64", "s64")],
        *[("b16", "f16", "f16"), ("f32", "b32", "f32"), ("f32", "f32", "f32"), ("b32", "f32", "f32")],
        *[("f64", "f64", "f64"), ("b64", "f64", "f64")],
    ],
)
def test_a_register_holds_what_a_load_would_give(device: Device, kind: str, register: str, field: str) -> None:
    """For every type in PTX, in registers of its size and wider, the bits are those of the general kernel."""
    number = 5.0 if kind[0] in "su" else -0.3
    spec = ParameterSpec("d", "int" if kind[0] in "su" else "float", 0, "")
    text = storing(kind, register)
    signature = parse(text).signatures["store"]
    assert number_field(signature.parameters[1], spec.type) == field
    made, width = driven_ptx(text, signature, {1: field}), WIDTHS[register]
    ours = run(device, made, "store", np.zeros(1, width), record(device, number, spec))
    np.testing.assert_array_equal(ours, run(device, text, "store", np.zeros(1, width), on_the_cpu(number, spec)))
    assert len(made.splitlines()) == len(text.splitlines())


def test_guards_strings_and_other_entry_points_are_kept(device: Device) -> None:
    """A guarded load stays guarded, comments stay, and another entry point keeps its number."""
    body = """
    .reg .pred %p; .reg .b64 %rd; .reg .b32 %r<3>;
    ld.param.u64 %rd, [out]; mov.u32 %r0, 7; mov.u32 %r1, 7; setp.eq.u64 %p, %rd, 0; // ld.param.u32 %r0, [k];
    @%p ld.param.u32 %r0, [k]; @!%p ld.param.u32 %r1, [k];
    st.global.v2.u32 [%rd], {%r0, %r1};
    ret;
}
"""
    text = HEAD + "".join(f".visible .entry {name}(.param .u64 out, .param .u32 k) {{{body}" for name in ("one", "two"))
    made = driven_ptx(text, parse(text).signatures["one"], {1: "s64"})
    number = record(device, 9, ParameterSpec("d", "int", 0, ""))
    assert run(device, made, "one", np.zeros(2, np.uint32), number).tolist() == [7, 9]
    assert run(device, made, "two", np.zeros(2, np.uint32), 9).tolist() == [7, 9]


def test_a_number_whose_address_is_taken_is_refused() -> None:
    """A parameter that is used other than by loads can't be read from memory, nor can a struct."""
    text = f"{HEAD}.visible .entry it(.param .u32 k) {{ .reg .b64 %rd; mov.b64 %rd, k; ret; }}\n"
    with pytest.raises(KernelError, match=r"k must be read by ld\.param alone"):
        driven_ptx(text, parse(text).signatures["it"], {0: "s64"})
    struct = parse(f"{HEAD}.visible .entry it(.param .align 4 .b8 k[12]) {{ ret; }}\n").signatures["it"]
    with pytest.raises(KernelError, match="k must be a number to be read from memory, got 12 bytes"):
        number_field(struct.parameters[0], "float")


def _driven(device: Device, source: Any, entry: str, numbers: Mapping[int, str]) -> Any:
    made = find_source(DrivenKernel(source, entry, tuple(numbers.items())), [KERNELS_FOLDER])
    return load_image(made, device.info.architecture)


@pytest.mark.parametrize("form", ["text", "declared twice", "constants", "ptx"])
def test_kernels_read_numbers(device: Device, tmp_path: Path, form: str) -> None:
    """CUDA C++ whose parameters are spread over lines, a kernel that is declared twice, constants and PTX."""
    text = FIR if form == "declared twice" else FIR.split(";", 1)[1]
    source: Any = CudaText(text)
    numbers = {2: "int", 3: "bool", 4: "float"}
    if form == "constants":
        source = SpecialisedKernel(source, "fir", {2: 5})
        del numbers[2]
    if form == "ptx":
        (tmp_path / "fir.ptx").write_text(load_image(source, "compute_75").ptx)
        source = PtxFile(str(tmp_path / "fir.ptx"))
    image = _driven(device, source, "fir", numbers)
    if form == "text":
        fields = {
            i: number_field(typed_parameters(load_image(source, "compute_75"), "fir")[i], numbers[i]) for i in numbers
        }
        assert fields == {2: "s32", 3: "boolean", 4: "f32"}
        changed = driven_cuda(text, load_image(source, "compute_75").signatures["fir"], fields)
        assert changed is not None and changed.count("\n") == text.count("\n")
    given = {2: 4.6, 3: 1.0, 4: 0.25}
    args = [record(device, given[i], ParameterSpec("d", numbers[i], 0, "")) if i in numbers else 5 for i in given]
    payload = image.payload(device.info.architecture)
    result = run(device, payload, "fir", np.zeros(1, np.float32), device.upload(X), *args)
    assert result == np.float32(0.75) * np.sum(X[:5] ** 2)
    assert [parameter.size_bytes for parameter in image.signature("fir").parameters] == [
        8, 8, *(8 if i in numbers else 4 for i in (2, 3, 4))
    ]  # fmt: skip


def test_an_op_graph_reads_numbers_in_both_of_its_codes(device: Device) -> None:
    """The first code of an op graph and its best code read the same numbers."""
    source = OpGraphSource.of_expression("x * gain + offset", x=f32)
    general = load_image(source, device.info.architecture)
    gain, offset = (i for i, each in enumerate(general.signatures["kernel"].parameters) if each.ptx_type == "f32")
    image = _driven(device, source, "kernel", {gain: "float", offset: "float"})
    assert image.best is not None
    for text in (image.ptx, image.best.ptx()):
        assert [p.size_bytes for p in parse(text).signatures["kernel"].parameters].count(8) >= 4, text
