"""Listeners: how their threads start and end, and which sources they accept."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values.test_listening import listeners
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.values.sources.listening import MOST_SOURCES, Inputs, Listener, Listeners
from warploom.engine.values.sources.osc import OscListener
from warploom.engine.values.value_graph import refused_sources


@pytest.mark.parametrize("source", ["osc:9000", "osc:", "osc:127.0.0.1:", "osc:127.0.0.1:http"])
def test_a_source_that_names_no_port_is_reported(source: str) -> None:
    """A source that names no port, as a user's block may return, is reported, and no port is opened."""
    listener = OscListener(source, Inputs())
    listener.start()
    until(lambda: listener.problem_at("node") is not None)
    listener.close()
    told = listener.problem_at("node")
    assert told is not None and told.message.endswith(f"such as osc:127.0.0.1:9000, got {source}")


class Slow(Listener):
    """A listener with one device, which it keeps after its end until a test lets it go."""

    device = threading.Lock()
    held = threading.Event()
    may_release = threading.Event()

    def listen(self) -> None:
        """Hold the device until it may be released."""
        assert self.device.acquire(blocking=False), "the device must be free"
        self.ready()
        self.held.set()
        self.stopping.wait()
        assert self.may_release.wait()
        self.device.release()


def test_frames_do_not_wait_for_a_listener_to_end() -> None:
    """The next listener starts when the previous one has released the device; closing waits for all."""
    needed = Listeners(Inputs(), {"slow": Slow})
    needed.need(["slow:a"])
    assert Slow.held.wait()
    Slow.held.clear()
    needed.need(["slow:b"])
    needed.need(["slow:c"])
    Slow.may_release.set()  # both calls have returned before the device was free
    assert Slow.held.wait()
    assert needed.open["slow:c"].problem_at("node") is None
    needed.close()
    assert not Slow.device.locked() and listeners() == []


def test_messages_from_any_thread_are_counted() -> None:
    """No count is lost when several threads count under one name."""
    inputs = Inputs()
    threads = [threading.Thread(target=lambda: [inputs.add("n", 1) for _ in range(5000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inputs.table["n"] == 20_000


@given(
    st.dictionaries(st.integers(0, 999).map(str), st.integers(0, 2 * MOST_SOURCES).map("osc:127.0.0.1:{}".format)),
    st.booleans(),
)
def test_a_patch_listens_to_a_limited_number_of_sources(sources: dict[str, str], trusted: bool) -> None:
    """The first sources are listened to, by all blocks that need them, and every other block is refused."""
    refused = refused_sources(sources, trusted=trusted)
    heard = list(dict.fromkeys(sources.values()))[:MOST_SOURCES]
    assert refused.keys() == {node for node, source in sources.items() if source not in heard}
    assert all(told.node == node and sources[node] in told.message for node, told in refused.items())


def test_many_listening_blocks_are_reported_and_start_few_threads() -> None:
    """Check and engine name each block over the limit, and the engine has no thread for it."""
    patch = Patch()
    for port in range(MOST_SOURCES + 5):
        patch.add("value.osc_in", port=20_000 + port)
    told = check_patch(patch)
    assert len(told) == 5 and all("at most 64 OSC addresses" in item.message for item in told)
    with Engine(patch, device="host") as engine:
        assert set(told) <= set(engine.step().diagnostics)
        assert len(listeners()) == MOST_SOURCES
    assert listeners() == []
