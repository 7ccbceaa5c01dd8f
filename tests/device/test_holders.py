"""Driver objects that several graphs and threads share."""

import sys
import threading

import pytest

from warploom.engine.device.cuda.ownership import DriverObjects, Holds, Shared
from warploom.engine.diagnostics import DeviceError


def test_an_object_is_released_once_by_whoever_drops_it_last() -> None:
    """Threads may share an object and drop it at any time; the last drop releases it, once."""
    released: list[int] = []
    objects = DriverObjects()
    shared = Shared(objects, lambda: released.append(1))

    def use() -> None:
        holds = Holds()
        for _ in range(2000):
            with holds.holding(shared):
                shared.hold()
            holds.drop(shared)
            shared.drop()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert shared.alive
    assert not released
    shared.drop()
    assert not shared.alive
    assert released == [1]


def test_what_was_released_is_not_held_again() -> None:
    """Using a released object is an error and does not revive it."""
    shared, holds = Shared(DriverObjects(), lambda: None), Holds()
    shared.drop()
    with pytest.raises(DeviceError, match="must not be used after they were released"), holds.holding(shared):
        pytest.fail("the driver must not be told of it")
    assert not shared.alive


def test_what_the_driver_refuses_is_not_held() -> None:
    """If the driver refuses a call, the use that was counted before the call is undone."""
    released: list[int] = []
    shared, holds = Shared(DriverObjects(), lambda: released.append(1)), Holds()
    with pytest.raises(DeviceError, match="refused"), holds.holding(shared):
        raise DeviceError("refused")
    shared.drop()
    assert released == [1]
