"""When garbage is collected while engines run: in gaps that are long enough, and before it grows without bound."""

import gc
import threading
from collections.abc import Iterator

import pytest

from engine.runtime.frame.gc_scheduler import COLLECTOR, Collector, Gap

FOREVER_NS = 2**62


class FakeHeap:
    """A heap that only counts its young and its surviving objects. Collecting takes 100 ns an object."""

    def __init__(self) -> None:
        self.enabled, self.young, self.survivors, self.frozen = True, 0, 0, 0
        self.now_ns, self.calls = 10**12, list[str]()
        self.garbage = 0.5  # of the young ones
        self.blocks = 1_000_000

    def isenabled(self) -> bool:
        return self.enabled

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def get_count(self) -> tuple[int, int, int]:
        return self.young, 0, 0

    def get_freeze_count(self) -> int:
        return self.frozen

    def get_stats(self) -> list[dict[str, int]]:
        return [{"collections": self.calls.count(f"collect {generation}")} for generation in range(3)]

    def freeze(self) -> None:
        self.frozen += self.young + self.survivors + 1
        self.young = self.survivors = 0

    def unfreeze(self) -> None:
        self.survivors += self.frozen
        self.frozen = 0
        self.calls.append("unfreeze")

    def collect(self, generation: int = 2) -> int:
        self.calls.append(f"collect {generation}")
        looked_at = self.young + (self.survivors if generation == 2 else 0)
        self.now_ns += 100 * looked_at
        found = int(self.young * self.garbage)
        self.survivors += self.young - found
        self.young = 0
        return found

    def collected(self) -> list[str]:
        """Return what was called since the last question."""
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def heap() -> FakeHeap:
    """An empty heap."""
    return FakeHeap()


@pytest.fixture
def collector(heap: FakeHeap) -> Collector:
    """A collector of that heap."""
    return Collector(heap, now_ns=lambda: heap.now_ns, blocks=lambda: heap.blocks)


@pytest.fixture
def gap(collector: Collector, heap: FakeHeap) -> Gap:
    """The gap of an engine that holds the collector."""
    gap = Gap()
    collector.hold(gap)
    heap.collected()
    return gap


def test_collection_is_taken_over_and_given_back(collector: Collector, heap: FakeHeap) -> None:
    """Two engines may overlap in any order; the last one to end restores it as it was."""
    one, two = Gap(), Gap()
    collector.hold(one)
    assert (heap.enabled, heap.frozen > 0) == (False, True)
    collector.hold(two)
    collector.adopt()
    collector.release(one)
    collector.disown()
    assert not heap.enabled
    collector.release(two)
    assert (heap.enabled, heap.frozen) == (True, 0)
    heap.enabled = False
    collector.hold(one)
    collector.release(one)
    assert not heap.enabled, "somebody else had switched it off"


def test_objects_set_aside_by_others_stay_so(collector: Collector, heap: FakeHeap) -> None:
    """The scheduler then sets nothing aside, since it could not take back its own objects alone."""
    heap.frozen = 5
    collector.hold(Gap())
    assert heap.frozen == 5
    heap.young = 40_000
    for gap in collector._gaps:
        gap.free_until_ns = FOREVER_NS
        collector.collect()
        collector.release(gap)
    assert heap.frozen == 5


def test_nothing_is_collected_while_few_objects_were_made(collector: Collector, heap: FakeHeap, gap: Gap) -> None:
    """However much time there is, it waits for as many young objects as Python itself does."""
    gap.free_until_ns = FOREVER_NS
    heap.young = 699
    collector.collect()
    assert heap.collected() == []
    heap.young = 700
    collector.collect()
    assert heap.collected() == ["collect 0"]


def test_a_young_collection_waits_for_a_gap_that_is_long_enough(collector: Collector, heap: FakeHeap, gap: Gap) -> None:
    """It never runs in a frame, nor in a gap shorter than earlier collections lead it to expect."""
    heap.young = 1000
    collector.collect()
    assert heap.collected() == []
    gap.free_until_ns = heap.now_ns + 1000 * 300 - 1
    collector.collect()
    assert heap.collected() == []
    for _ in range(30):
        heap.young = 1000
        gap.free_until_ns = heap.now_ns + 1000 * 300
        collector.collect()
    heap.collected()
    heap.young = 1000
    gap.free_until_ns = heap.now_ns + 1000 * 110
    collector.collect()
    assert heap.collected() == ["collect 0"]


def test_every_engine_must_have_time(collector: Collector, heap: FakeHeap, gap: Gap) -> None:
    """A collection for one engine's gap would stop the other one's frame."""
    other = Gap()
    collector.hold(other)
    heap.young, gap.free_until_ns = 1000, FOREVER_NS
    collector.collect()
    assert heap.collected() == []
    other.free_until_ns = FOREVER_NS
    collector.collect()
    assert heap.collected() == ["collect 0"]


def test_without_any_gap_small_collections_still_happen(collector: Collector, heap: FakeHeap, gap: Gap) -> None:
    """Frames back to back that make 100 objects each never leave more than some ten thousand."""
    most, longest_ns = 0, 0
    for _ in range(5000):
        heap.young += 100
        before_ns = heap.now_ns
        collector.collect()
        most, longest_ns = max(most, heap.young + heap.survivors), max(longest_ns, heap.now_ns - before_ns)
    assert most < 50_000
    assert longest_ns < 6_000_000


def test_survivors_are_collected_together_and_set_aside(collector: Collector, heap: FakeHeap, gap: Gap) -> None:
    """In gaps, from ten thousand survivors on."""
    gap.free_until_ns = FOREVER_NS
    for _ in range(25):
        heap.young = 1000
        collector.collect()
    assert heap.collected().count("collect 2") == 1
    assert heap.survivors < 10_000


def test_everything_is_looked_at_again_when_memory_has_grown_much(
    collector: Collector, heap: FakeHeap, gap: Gap
) -> None:
    """Half as much again is enough while no engine plays; one that plays is left alone until it has doubled."""
    gap.free_until_ns = heap.now_ns + 10**8
    heap.young, heap.blocks = 20_000, 1_600_000
    collector.collect()
    assert heap.collected() == ["collect 2"]
    heap.young, gap.free_until_ns = 20_000, FOREVER_NS
    collector.collect()
    assert heap.collected() == ["unfreeze", "collect 2"]
    assert heap.frozen > 0
    heap.young, heap.blocks, gap.free_until_ns = 20_000, 3_200_000, heap.now_ns + 10**8
    collector.collect()
    assert heap.collected() == ["unfreeze", "collect 2"]
    heap.young = 20_000
    collector.collect()
    assert heap.collected() == ["collect 2"]


def test_collect_does_nothing_while_python_collects(collector: Collector, heap: FakeHeap) -> None:
    """Before the first engine and after the last one, `collect` does nothing."""
    heap.young = 10**6
    collector.collect()
    assert heap.collected() == []


def test_finalizers_may_hold_and_release_the_collector(
    collector: Collector, heap: FakeHeap, gap: Gap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may do so in another thread that is waited for, as when garbage holds an engine that is then closed."""
    collect = heap.collect

    def finalizing(generation: int = 2) -> int:
        def change() -> None:
            other = Gap()
            collector.hold(other)
            collector.collect()
            collector.release(other)
            collector.release(gap)

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        thread.join()
        assert not thread.is_alive(), "it must not wait for the collection"
        return collect(generation)

    monkeypatch.setattr(heap, "collect", finalizing)
    heap.young, heap.blocks, gap.free_until_ns = 20_000, 2_000_000, FOREVER_NS
    collector.collect()
    assert heap.collected() == ["unfreeze", "unfreeze", "collect 2"]
    assert (heap.enabled, heap.frozen) == (True, 0), "nothing is set aside when nobody holds the collector any more"


@pytest.fixture
def given_back() -> Iterator[None]:
    """Check that the process's own collector is unchanged."""
    before = gc.isenabled(), gc.get_freeze_count()
    yield
    assert (gc.isenabled(), gc.get_freeze_count()) == before


@pytest.mark.usefixtures("given_back")
def test_the_process_collector_collects_real_cycles() -> None:
    """A thousand cycles go in one collection in a gap."""
    gap = Gap()
    COLLECTOR.hold(gap)
    try:
        assert not gc.isenabled()
        gc.collect(0)
        for _ in range(1000):
            cycle: list[object] = []
            cycle.append(cycle)
        assert gc.get_count()[0] >= 700
        COLLECTOR.collect()
        assert gc.get_count()[0] >= 700, "no gap yet"
        gap.free_until_ns = FOREVER_NS
        COLLECTOR.collect()
        assert gc.get_count()[0] < 700
    finally:
        COLLECTOR.release(gap)


def test_deferring_leaves_everything_as_it_was(heap: FakeHeap, collector: Collector) -> None:
    """Nothing is frozen or collected, also when it is nested; Python collects again after the last."""
    heap.young = 100
    with collector.deferred():
        with collector.deferred():
            assert not heap.enabled
        assert not heap.enabled
    assert heap.enabled
    assert (heap.young, heap.frozen, heap.collected()) == (100, 0, [])


def test_what_was_made_while_deferring_counts_as_old(heap: FakeHeap, collector: Collector) -> None:
    """No young collection looks at it; after too much of that, Python's own has to see what is garbage."""
    with collector.deferred():
        heap.young = 300_000
    assert (heap.young, heap.frozen) == (0, 0)
    for made in (300_000, 300_000, 300_000):
        with collector.deferred():
            heap.young = made
    assert (heap.young, heap.frozen) == (300_000, 0), "the fourth would be more than a million"
    heap.collect(2)
    with collector.deferred():
        heap.young = 300_000
    assert (heap.young, heap.enabled) == (0, True)


def test_nothing_is_aged_where_somebody_else_froze_objects(heap: FakeHeap, collector: Collector) -> None:
    """What is frozen stays frozen, since thawing would reach all of it."""
    heap.freeze()
    frozen = heap.frozen
    with collector.deferred():
        heap.young = 300_000
    assert (heap.young, heap.frozen) == (300_000, frozen)


def test_an_engine_may_start_and_stop_while_another_defers(heap: FakeHeap, collector: Collector) -> None:
    """The last holder returns collection to Python, and only if Python was collecting before."""
    gap = Gap()
    with collector.deferred():
        collector.hold(gap)
        assert heap.frozen
    assert not heap.enabled
    collector.release(gap)
    assert heap.enabled
    collector.hold(gap)
    with collector.deferred():
        collector.release(gap)
        assert not heap.enabled
    assert heap.enabled
    heap.disable()
    with collector.deferred():
        pass
    assert not heap.enabled
