"""Triton's and numba's kernels run on both devices and have the results of Triton's interpreter and numpy.

They need the packages: `pip install triton numba-cuda[cu13]`.
"""

import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.kernel_sources.sources import PythonKernel, PythonOptions
from warploom.engine.protocol.messages import KernelFilesChanged
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.types import Array

SAMPLES = Path(__file__).parent / "python_samples"
RANDOM = np.random.default_rng(0)


def needs(package: str) -> pytest.MarkDecorator:
    """Skip a test if a package is not installed, or if numba can't work with the installed numpy."""
    works = package != "numba_cuda" or hasattr(np, "row_stack")
    is_missing = importlib.util.find_spec(package) is None or not works
    return pytest.mark.skipif(is_missing, reason=f"needs {package}, and numba a numpy that has row_stack")


@pytest.fixture(autouse=True)
def trusted(tmp_path: Path) -> Iterator[None]:
    """Trust kernels of this folder and of the test's own folder."""
    added = {SAMPLES, tmp_path}
    trusted_folders.update(added)
    yield
    trusted_folders.difference_update(added)


@pytest.fixture
def load(device: Device, tmp_path: Path) -> Callable[..., KernelImage]:
    """Load a kernel of a sample for the device."""

    def loaded(file: str, name: str, **options: Any) -> KernelImage:
        source = PythonKernel(str(SAMPLES / file), name, PythonOptions(**options))
        return load_image(source, device.info.architecture, CompileCache(tmp_path / "cache"))

    return loaded


def launched(
    device: Device, image: KernelImage, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any
) -> list[Array]:
    """Return the arrays among the arguments after a launch."""
    (name,) = image.signatures
    kernel = device.load_module(image.payload(device.info.architecture)).kernel(name)
    passed = [device.upload(item) if isinstance(item, np.ndarray) else item for item in arguments]
    device.launch(kernel, grid, block, passed)
    device.synchronize()
    return [item.download() for item, given in zip(passed, arguments, strict=True) if isinstance(given, np.ndarray)]


def interpreted(folder: Path, name: str, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> list[Array]:
    """Return the arrays among the arguments after Triton's interpreter has run a kernel of the sample."""
    request = {"file": str(SAMPLES / "triton_kernels.py"), "kernel": name, "grid": grid}
    place = folder / "request"
    place.write_bytes(pickle.dumps(request | {"arguments": arguments, "constants": constants}))
    subprocess.run([sys.executable, str(SAMPLES.parent / "interpret_triton.py"), str(place)], check=True)
    return [item for item in pickle.loads(place.read_bytes()) if isinstance(item, np.ndarray)]


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape, np.float32)


@needs("triton")
def test_an_element_wise_triton_kernel_equals_the_interpreter(
    device: Device, load: Callable[..., KernelImage], tmp_path: Path
) -> None:
    """An element-wise kernel equals the interpreter bit for bit, with either constant and a part of a thread block."""
    for block in (256, 64):
        grid = (-(-1000 // block),)
        arguments = floats(1000), floats(1000), np.zeros(1000, np.float32), np.int32(1000)
        image = load("triton_kernels.py", "add", constants={"BLOCK": block})
        found = launched(device, image, grid, (128,), *arguments)
        expected = interpreted(tmp_path, "add", grid, *arguments[:3], 1000, BLOCK=block)
        assert np.array_equal(found[2], expected[2])
        assert np.array_equal(found[2], 2 * arguments[0] + arguments[1])


@needs("triton")
def test_a_triton_kernel_with_shared_memory_equals_the_interpreter(
    device: Device, load: Callable[..., KernelImage], tmp_path: Path
) -> None:
    """A softmax agrees with the interpreter within rounding, since sums have another order."""
    x, out = floats(7, 500), np.zeros((7, 500), np.float32)
    image = load("triton_kernels.py", "softmax", constants={"BLOCK": 512}, num_warps=8)
    found = launched(device, image, (7,), (256,), x, out, np.int32(500))
    expected = interpreted(tmp_path, "softmax", (7,), x, out, 500, BLOCK=512)
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-6)


@needs("triton")
def test_a_matrix_product_in_triton_equals_the_interpreter(
    device: Device, load: Callable[..., KernelImage], tmp_path: Path
) -> None:
    """A product by tensor cores or their emulation equals numpy's, for sizes that are no multiples of the tile."""
    a, b, c = floats(70, 90).astype(np.float16), floats(90, 50).astype(np.float16), np.zeros((70, 50), np.float32)
    found = launched(device, load("triton_kernels.py", "matmul"), (3, 2), (128,), a, b, c, *map(np.int32, (70, 50, 90)))
    if not version("triton").startswith("3.6"):  # the interpreter of 3.6 can't loop up to a number with numpy 2.4
        expected = interpreted(tmp_path, "matmul", (3, 2), a, b, c, 70, 50, 90)
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


@needs("triton")
def test_autotune_gives_its_first_configuration(device: Device, load: Callable[..., KernelImage]) -> None:
    """Autotune uses its first configuration, and types follow from options and defaults if there is no annotation."""
    image = load("triton_kernels.py", "histogram", types={"n": "i32"})
    (manifest,) = describe_kernels(image)
    assert (manifest.block_size, manifest.constants) == (64, {"BLOCK": 64})
    x = RANDOM.integers(0, 1000, 333, np.int32)
    found = launched(device, image, (6,), (64,), x, np.zeros(16, np.int32), np.int32(333), np.int32(16))
    assert np.array_equal(found[1], np.bincount(x % 16, minlength=16))


@needs("triton")
def test_a_triton_kernel_brings_its_launch(load: Callable[..., KernelImage]) -> None:
    """A Triton kernel's launch has names, types, directions, threads, shared memory and constants."""
    (manifest,) = describe_kernels(load("triton_kernels.py", "matmul", num_warps=2))
    parameters = [(p.name, p.ptx_type, p.element_type, p.direction) for p in manifest.parameters]
    assert parameters == [
        ("a", "u64", "f16", "in"), ("b", "u64", "f16", "in"), ("c", "u64", "f32", "out"),
        ("m", "u32", None, "in"), ("n", "u32", None, "in"), ("k", "u32", None, "in"),
    ]  # fmt: skip
    assert (manifest.block_size, manifest.req_threads, manifest.constants) == (64, [64, 1, 1], {"SIZE": 32})
    assert manifest.shared_memory_static and not manifest.uses_dynamic_shared and not manifest.shared_memory_dynamic


@needs("triton")
@pytest.mark.parametrize(
    ("name", "options", "message", "line"),
    [
        ("softmax", {}, "constant BLOCK of softmax must have a value, got none; give it a default", 17),
        ("histogram", {}, 'type of n in histogram must be one such as "*fp32" or "i32", got none; write it', None),
        ("add", {"types": {"x": "floaty"}}, 'type of x in add must be one such as "*fp32" or "i32", got floaty', None),
        (
            "add",
            {"constants": {"B": 1}},
            r"constants of add must be parameters of it (x, y, out, n, BLOCK), got B",
            None,
        ),
        ("broken", {}, "broken of triton_kernels.py must compile, got an error:\ntriton_kernels.py(53): ", 53),
        ("twice", {}, "kernel twice must be one of add, softmax, matmul, histogram, broken in triton_kernels.py", None),
    ],
)
def test_mistakes_in_a_triton_kernel_have_their_place(
    load: Callable[..., KernelImage], name: str, options: dict[str, Any], message: str, line: int | None
) -> None:
    """A mistake in a Triton kernel is reported with file, line if known, and remedy."""
    with pytest.raises(KernelError) as refused:
        load("triton_kernels.py", name, **options)
    assert str(refused.value).startswith(message)
    assert (refused.value.file, refused.value.line) == (str(SAMPLES / "triton_kernels.py"), line)


@needs("numba_cuda")
def test_a_numba_kernel_equals_numpy(device: Device, load: Callable[..., KernelImage]) -> None:
    """A numba kernel equals numpy; for each array it gets the address and the other fields that it reads."""
    image = load("numba_kernels.py", "wave")
    parameters = [(p.name, p.semantic, p.element_type) for p in describe_kernels(image)[0].parameters]
    assert parameters == [
        ("x", None, "f32"), ("x_width", "width(x)", None),
        ("out_size", "size(out)", None), ("out", None, "f64"), ("out_width", "width(out)", None),
    ]  # fmt: skip
    x, out, size = floats(1000), np.zeros(1000), np.int64(1000)
    found = launched(device, image, (8,), (128,), x, size, size, out, size)
    np.testing.assert_allclose(found[1], np.sin(x.astype(np.float64)) + 1, rtol=0, atol=3e-7)


@needs("numba_cuda")
def test_a_numba_kernel_with_shared_memory_equals_numpy(device: Device, load: Callable[..., KernelImage]) -> None:
    """A kernel with two dimensions, shared memory and types from its decorator's signature equals numpy."""
    image = load("numba_kernels.py", "mirror")
    names = [(p.name, p.semantic) for p in describe_kernels(image)[0].parameters]
    x, values = floats(9, 64), {"factor": np.float32(3), "out": np.zeros((9, 64), np.float32)}
    values["x"] = x
    values |= {f"{size}({name})": np.int64(n) for size, n in (("height", 9), ("width", 64)) for name in ("x", "out")}
    found = launched(device, image, (2, 3), (32, 4), *(values[semantic or name] for name, semantic in names))
    assert np.array_equal(found[1], x.reshape(9, 2, 32)[:, :, ::-1].reshape(9, 64) * np.float32(3))


@needs("numba_cuda")
def test_atomics_of_numba_equal_numpy(device: Device, load: Callable[..., KernelImage]) -> None:
    """Counts by numba's atomics equal numpy's."""
    image = load("numba_kernels.py", "count")
    x = RANDOM.integers(0, 1000, 300, np.int32)
    values = {"x": x, "out": np.zeros(7, np.int32), "bins": np.int32(7)}
    values |= {"size(x)": np.int64(300), "width(x)": np.int64(300), "width(out)": np.int64(7)}
    names = [p.semantic or p.name for p in describe_kernels(image)[0].parameters]
    found = launched(device, image, (3,), (128,), *(values[name] for name in names))
    assert np.array_equal(found[1], np.bincount(x % 7, minlength=7))


@needs("numba_cuda")
@pytest.mark.parametrize("name", ["waves", "reshaped"])
def test_functions_that_numba_links_are_there(device: Device, load: Callable[..., KernelImage], name: str) -> None:
    """Thread blocks of a grid wait for each other, and an array takes another shape, as in numpy."""
    if name == "waves" and device.info.name != "host":
        pytest.skip("thread blocks of a CUDA graph start when there is room")
    image = load("numba_kernels.py", name)
    x = floats(300) if name == "waves" else floats(6, 5, 10)
    values = {"x": x, "out": np.zeros(300 if name == "waves" else (20, 15), np.float32)}
    for array in ("x", "out"):
        values[f"size({array})"] = np.int64(300)
        sides = zip(("width", "height", "depth"), values[array].shape[::-1], strict=False)
        values |= {f"{side}({array})": np.int64(size) for side, size in sides}
        for axis, step in enumerate(values[array].strides):
            values[f"4 * {array}.stride{axis}"] = np.int64(step)
    given = [p.semantic or p.name for p in describe_kernels(image)[0].parameters]
    given = [values[each] if each in values else np.int64(each) for each in given]
    found = launched(device, image, (5,) if name == "waves" else (2, 2), (64,) if name == "waves" else (16, 16), *given)
    wanted = 2 * (x + np.roll(x, -1)) if name == "waves" else x.reshape(20, 15)
    assert any(np.array_equal(each, wanted) for each in found)


@needs("numba_cuda")
@pytest.mark.parametrize(
    ("name", "options", "message", "line"),
    [
        ("broken", {}, "broken of numba_kernels.py must compile, got: Unknown attribute 'nothing' of type ", 39),
        ("untyped", {}, 'type of x in untyped must be one such as "float32[:]" or "int32", got none; write it', 42),
        ("wave", {"types": {"x": "__import__('os')"}}, "type of x in wave must be one such as ", 8),
        ("wave", {"constants": {"x": 1}}, "constants of wave must be those of a Triton kernel", None),
    ],
)
def test_mistakes_in_a_numba_kernel_have_their_place(
    load: Callable[..., KernelImage], name: str, options: dict[str, Any], message: str, line: int | None
) -> None:
    """A mistake in a numba kernel is reported with file, line if known, and remedy."""
    with pytest.raises(KernelError) as refused:
        load("numba_kernels.py", name, **options)
    assert str(refused.value).startswith(message)
    assert (refused.value.file, refused.value.line) == (str(SAMPLES / "numba_kernels.py"), line)


class OfPython(Block, id="test_python.scale"):
    """Runs the Triton kernel `scale` of a file."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", doc="What the kernel makes of them.")
    file: str = param("", structural=True, doc="The file.")

    def describe(self, build: BlockBuilder) -> None:
        programs = (self.x.size + 255) // 256
        arguments = (self.x, self.out, self.x.size)
        build.launch(Kernel(self.file, "scale"), num_threads=programs * 128, thread_block=128, args=arguments)


@needs("triton")
def test_a_saved_python_kernel_is_swapped_in(device: Device, tmp_path: Path) -> None:
    """A mistake is reported with its line while the last good version runs; imported modules are followed too."""
    text = (
        "import triton\nimport triton.language as tl\nfrom factor import FACTOR\n\n@triton.jit\n"
        "def scale(x: '*fp32', out: '*fp32', n: 'i32'):\n"
        "    i = tl.program_id(0) * 256 + tl.arange(0, 256)\n"
        "    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)\n"
    )
    file, factor = tmp_path / "scale.py", tmp_path / "factor.py"
    factor.write_text("import triton.language as tl\nFACTOR = tl.constexpr(2.0)\n")
    file.write_text(text)
    x = floats(1000)
    patch = Patch()
    data = patch.add("io.array", data=x)
    node = patch.add("test_python.scale", node_id="scale", file=str(file))
    patch.connect(data["out"], node["x"])

    def save(path: Path, new: str) -> Any:
        path.write_text(new)
        engine.post(KernelFilesChanged(frozenset({path})))
        return engine.step()

    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(node["out"]), 2 * x)
        assert save(file, text.replace("* FACTOR", "+ FACTOR")).update_level is UpdateLevel.CODE
        assert np.array_equal(engine.read(node["out"]), x + 2)
        (problem,) = save(file, text.replace("* FACTOR", "+ nothing")).diagnostics
        assert (problem.node, problem.file, problem.line) == ("scale", str(file), 8)
        assert "nothing is not defined" in problem.message
        assert np.array_equal(engine.read(node["out"]), x + 2)
        assert save(file, text).diagnostics == ()
        assert save(factor, factor.read_text().replace("2.0", "3.0")).update_level is UpdateLevel.CODE
        assert np.array_equal(engine.read(node["out"]), 3 * x)


@needs("triton")
def test_a_kernel_file_in_triton_is_a_block(device: Device) -> None:
    """A Triton file becomes a block with the kernel's ports and sizes, whatever the number of threads."""
    x, y = floats(1000), floats(1000)
    patch = Patch()
    a, b = patch.add("io.array", data=x), patch.add("io.array", data=y)
    for block in (64, 512):
        values = {"file": SAMPLES / "triton_kernels.py", "entry": "add", "defines": f"BLOCK={block}"}
        node = patch.add("kernel.file", node_id=f"add{block}", **values)
        patch.connect(a["out"], node["x"])
        patch.connect(b["out"], node["y"])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        assert np.array_equal(engine.read(patch["add64"]["out"]), 2 * x + y)
        assert np.array_equal(engine.read(patch["add512"]["out"]), 2 * x + y)


@needs("triton")
def test_a_kernel_file_in_triton_that_no_block_can_launch_says_so() -> None:
    """A kernel with an unknown number of programs, such as a matrix product, is refused."""
    patch = Patch()
    patch.add("kernel.file", file=SAMPLES / "triton_kernels.py", entry="matmul")
    (problem,) = check_patch(patch)
    assert problem.message.startswith("matmul must have one dimension, and a constant BLOCK for how many elements")


@needs("numba_cuda")
def test_a_kernel_file_in_numba_is_a_block(device: Device) -> None:
    """A numba file becomes a block; besides addresses, the values that numba passes for arrays follow from ports."""
    x = floats(1000)
    patch = Patch()
    data = patch.add("io.array", data=x)
    node = patch.add("kernel.file", file=SAMPLES / "numba_kernels.py", entry="wave")
    patch.connect(data["out"], node["x"])
    with Engine(patch, device=device) as engine:
        assert engine.step().diagnostics == ()
        np.testing.assert_allclose(engine.read(node["out"]), np.sin(x.astype(np.float64)) + 1, rtol=0, atol=3e-7)
