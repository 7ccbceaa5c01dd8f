"""The folder of compiled kernels: damaged files, concurrent processes, and unchanged kernels in the next load."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.kernel_sources.test_compile_cache import size_of
from tests.processes import broken_compilers
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache
from warploom.engine.diagnostics import KernelFault, TranslatorBug
from warploom.engine.processes.pool import run

SOURCE = """extern "C" __global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }
extern "C" __global__ void wild(float* x, int at) { x[at] = 1; }"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder that only this test uses."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


def scaled(ptx):
    """Return what the kernel makes of an array of ones."""
    device = HostDevice(cores=1, quick_first=False)
    buffer = device.upload(np.ones(100, np.float32))
    device.launch(device.load_module(ptx).kernel("scale"), (1,), (128,), [buffer, 3.0, 100])
    values = buffer.download()
    device.close()
    return values


@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "flipped", "other"])
def test_a_damaged_file_counts_as_missing(folder, cuda_ptx, damage):
    """A damaged file counts as missing: the module or its kernel is compiled again and the file replaced."""
    ptx = cuda_ptx(SOURCE)
    assert (scaled(ptx) == 3).all()
    files = {path: path.read_bytes() for path in folder.iterdir()}
    assert len(files) == 3  # the module, and two optimised kernels
    for path, data in files.items():
        flipped = bytes([*data[:100], data[100] ^ 1, *data[101:]])
        broken = {"empty": b"", "cut": data[: len(data) // 2], "garbage": b"\xff" * 999, "flipped": flipped}
        path.write_bytes(broken.get(damage, b"\0\0\0\0" + data[4:]))
        assert (scaled(ptx) == 3).all()
        assert path.read_bytes() == data


def test_a_bug_of_the_translator_says_that_it_is_ours(folder, cuda_ptx, monkeypatch, caplog):
    """A bug in the translator raises an error that names the kernel and the place in the translator.

    Nothing is cached, and the module loads once the bug is gone.
    """
    device, ptx = HostDevice(cores=1), cuda_ptx(SOURCE)
    with monkeypatch.context() as patch, pytest.raises(TranslatorBug) as caught:
        patch.setattr(build, "translate", broken_compilers.with_a_bug)
        device.load_module(ptx)
    message = str(caught.value)
    for part in (
        "scale",
        "a register is left",
        "broken_compilers.py, line",
        "bug in Warploom",
        "not in the kern",
    ):
        assert part in message
    assert "Traceback" in caplog.text
    assert "in refuse_all" in caplog.text
    assert not list(folder.iterdir())
    assert device.load_module(ptx).kernel_names == ("scale", "wild")
    device.close()


def test_a_kernel_from_the_cache_still_knows_its_lines(folder, cuda_ptx):
    """A fault in a kernel from the cache names the line of the .cu file."""
    ptx = cuda_ptx(SOURCE, "compute_75", "-lineinfo")
    for _ in range(2):
        device = HostDevice(cores=1)
        buffer = device.upload(np.ones(4, np.float32))
        with pytest.raises(KernelFault, match=r"test\.cu:3"):
            device.launch(device.load_module(ptx).kernel("wild"), (1,), (1,), [buffer, 77])
        device.close()


def test_a_second_load_only_reads_the_cache(folder, cuda_ptx, monkeypatch):
    """The second load of a module only reads the cache: nothing is parsed, translated or compiled."""
    ptx = cuda_ptx(SOURCE)
    device = HostDevice(cores=1)
    device.load_module(ptx)
    monkeypatch.setattr(build, "run", lambda *work: pytest.fail(f"{work} must be in the cache"))
    device.load_module(ptx)
    device.close()


def _store(folder, name):
    cache.folder = lambda: folder
    cache.MAX_BYTES = 20_000
    for index in range(40):
        cache.store(f"{name}-{index % 7}", cache.CachedModule(bytes(1000), {}, {}, {}, {}))
        cache.load(f"{name}-{(index * 3) % 7}")


def test_processes_share_the_folder(tmp_path):
    """Several processes can write and delete files in the folder at once, and leave only complete files."""
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(run, [_store] * 4, [tmp_path] * 4, "aabc")] == [None] * 4
    assert size_of(tmp_path) <= 20_000 + 4 * 1200
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".new-")]
