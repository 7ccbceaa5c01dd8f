"""Listeners: how their threads start and end, and which sources they accept."""

import threading

import pytest

from engine.values.listening import Inputs, Listener, Listeners
from engine.values.osc import OscListener
from tests.values.test_listening import listeners
from tests.waiting import until


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
