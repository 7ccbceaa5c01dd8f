"""Fixtures and hooks for every test: separate caches, a check for leaked threads, and a clean catalogue."""

import gc
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

# The test processes use all cores already. With several threads, each call of LAPACK would wait for a busy core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.fuzzing import FACTOR, FIRST_SEED, many
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.device import optimiser as optimising
from warploom.engine.device.device import Device
from warploom.engine.device.host.modules import module as host_modules
from warploom.engine.device.open import list_devices, open_device
from warploom.engine.logs import LogBuffer, attach, detach
from warploom.engine.processes import pool
from warploom.engine.protocol import pipe
from warploom.engine.protocol.child import liveness

# The processes of pytest-xdist share one cache folder, so a kernel is compiled once per run. The process that makes the
# folder removes it.
_OWNS_HOME = "WARPLOOM_TESTS_HOME" not in os.environ
if _OWNS_HOME:
    os.environ["WARPLOOM_TESTS_HOME"] = tempfile.mkdtemp(prefix="warploom-tests-")
_HOME = Path(os.environ["WARPLOOM_TESTS_HOME"])
for _kind in ("CACHE", "CONFIG", "DATA", "STATE"):
    os.environ[f"XDG_{_kind}_HOME"] = str(_HOME / _kind.lower())
# If Python may not write beside the sources, the test processes keep their bytecode in pytest's cache folder.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")

_LONGEST = "test_packaging.py"
#: The number of test files that have been run.
_FILES = pytest.StashKey[int]()
_FILES_A_FREEZE = 5
#: Threads that must end with the engine or watcher that started them. A device's worker threads may outlive a test,
#: since test modules share devices.
_OWN_THREADS = ("warploom-engine", "warploom-prepare", "source-watcher", "block-loader")

# No time limit, since the machine may be busy. `make test` fixes the seed; examples that failed once are tried first
# until they pass (.hypothesis/).
settings.register_profile("warploom", deadline=None, print_blob=True, max_examples=many(40))
settings.load_profile("warploom")


# On a busy machine, a sound process may be silent for long.
liveness.LOST_S = liveness.HELLO_S = pipe.PATIENCE_S = 600.0
# Nor does a slow compile start a second process, which costs 0.4 s, for the next one.
pool.LONG_S = 600.0
# Nor does a slow launch wait for optimised code, which takes seconds of a kernel that a test launches a few times.
host_modules.WORTH_WAITING_NS = 1_000_000_000


def pytest_report_header() -> str:
    """Print the settings that repeat this run's random tests."""
    return f"random tests: WARPLOOM_FUZZ={FACTOR} WARPLOOM_SEED={FIRST_SEED}"


def pytest_unconfigure() -> None:
    """Remove the run's caches. Let Python end the objects of libraries, which report others as leaks."""
    gc.unfreeze()
    if _OWNS_HOME:
        shutil.rmtree(_HOME, ignore_errors=True)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Let `-n auto` start one process more than there are cores, since some tests wait for other processes."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Exclude the collected tests from garbage collection, which would visit thousands of objects each time."""
    gc.disable()
    try:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        if worker and [session.config.rootpath / name for name in session.config.args] == [Path(__file__).parent]:
            _import_tests(int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_tests(worker: int, count: int) -> None:
    """Import all test files, each of the `count` workers of pytest-xdist in another order.

    pytest rewrites the assertions of a file when it is first imported, and keeps the result. In a new checkout that
    takes 13 s of CPU time, which the workers share in this way. In the same order, each would rewrite all files.
    """
    root = Path(__file__).parents[1]
    names = [".".join(path.relative_to(root).with_suffix("").parts) for path in sorted(root.glob("tests/**/test_*.py"))]
    first = len(names) * worker // count
    for name in names[first:] + names[:first]:
        with suppress(Exception, pytest.skip.Exception):  # the collection imports the file again, and reports why
            import_module(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest file first, so that one process is not still busy with it when the others have finished.

    Tests that need a CUDA device are skipped where there is none, with the reason why there is none.
    """
    items.sort(key=lambda item: item.path.name != _LONGEST)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    devices = [status for status in list_devices() if status.name != "host"]
    if not any(status.usable for status in devices):
        skip = pytest.mark.skip(reason=f"no CUDA device: {devices[0].reason}")
        for item in marked:
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """After every few files, exclude what they leave, such as caches, from garbage collection.

    Otherwise a collection would take seconds at the end of the run, and some tests collect often. Collections go on
    even if a file has left a window open, which switches them off.
    """
    result = yield
    if nextitem is None or nextitem.path != item.path:
        item.config.stash[_FILES] = files = item.config.stash.get(_FILES, 0) + 1
        if files % _FILES_A_FREEZE == 0:
            gc.collect()
            gc.freeze()
        gc.enable()
    return result


@pytest.fixture(scope="session", autouse=True)
def optimises_nothing_in_the_background() -> Iterator[None]:
    """Don't optimise kernels in the background: a test ends before optimised code would pay off.

    Kernels are still optimised when a launch waits for it. That both kinds of code agree is tested for the host device,
    whose `host` fixture runs optimised kernels only.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimising.QUEUE, "add", lambda _job: None)
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `device` to the tests that take it: the host device, then the first GPU if there is one.

    With `-m "not gpu"`, the tests for a GPU are not made: to make and drop 8,000 of them takes seconds.
    """
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    names = {name.strip() for each in given for name in (each.split(",") if isinstance(each, str) else each)}
    if "device" in metafunc.fixturenames and "device" not in names and not hasattr(metafunc.module, "device"):
        gpus = [] if metafunc.config.option.markexpr == "not gpu" else [pytest.param("cuda:0", marks=pytest.mark.gpu)]
        metafunc.parametrize("device", ["host", *gpus], indirect=True, scope="module")


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A device, which the tests of a file share."""
    opened = open_device(request.param)
    yield opened
    opened.close()


@pytest.fixture
def optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimise kernels in the background, as outside tests."""
    monkeypatch.setattr(optimising, "QUEUE", optimising.OptimiserQueue(1))


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Install Python's own Ctrl+C handler, since a shell starts background jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def log_buffer() -> Iterator[LogBuffer]:
    """A buffer that receives log records of level INFO and above."""
    made = LogBuffer()
    attach(made)
    yield made
    detach(made)


@pytest.fixture(autouse=True)
def leaves_no_threads() -> Iterator[None]:
    """Fail a test that leaves an engine or a watcher running."""
    before = set(threading.enumerate())
    yield
    left: list[str] = []
    for _ in range(6000):
        left = sorted(t.name for t in set(threading.enumerate()) - before if t.name.startswith(_OWN_THREADS))
        if not left:
            return
        time.sleep(0.01)
    pytest.fail(f"threads must end with the test, got {', '.join(left)}; close the engine or watcher it made")


@pytest.fixture(autouse=True)
def leaves_no_block_types() -> Iterator[None]:
    """Remove block types that the test defined from the catalogue."""
    before = block_types.defined()
    yield
    changed = [
        type_id
        for type_id, block in block_types.defined().items()
        # The block library stays: it is imported once per process, by the first test that needs it.
        if before.get(type_id) is not block and not is_ours(block)
    ]
    block_types.commit({type_id: before[type_id] for type_id in changed if type_id in before}, changed)
