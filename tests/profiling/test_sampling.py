"""How often frames are measured, in simulations where frames, samples, reports and edits take known times."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.profiling.sampling import SHARE, Sampler


class Simulation:
    """A simulated engine whose clock advances with frames and with measuring."""

    def __init__(self, frame_ns: int, sample_ns: int) -> None:
        self.frame_ns, self.sample_ns = frame_ns, sample_ns
        self.sampler, self.now_ns, self.spent_ns, self.samples = Sampler(), 0, 0, 0

    def spend(self, cost_ns: int) -> None:
        """Let time pass that counts as measuring."""
        self.now_ns += cost_ns
        self.spent_ns += cost_ns
        self.sampler.spend(self.now_ns, cost_ns)

    def frame(self, *, with_report_ns: int = 0) -> None:
        """Run a frame, with a sample if one is due and with a report of the given cost."""
        if self.now_ns >= self.sampler.due_ns:
            self.samples += 1
            self.spend(self.sample_ns)
        if with_report_ns:
            self.spend(with_report_ns)
        self.now_ns += self.frame_ns

    @property
    def share(self) -> float:
        """The share of the time that was spent on measuring."""
        return self.spent_ns / self.now_ns


@given(st.lists(st.integers(0, 10**7), min_size=2, max_size=30), st.sampled_from((0.01, 0.05, 0.5)))
def test_samples_take_no_more_than_their_share(costs_ns: list[int], share: float) -> None:
    """Before each sample, the time spent on measuring is within its share, however long earlier samples took."""
    sampler, now_ns, spent_ns = Sampler(share), 0, 0
    assert sampler.due_ns <= now_ns
    for cost_ns in costs_ns:
        while now_ns < sampler.due_ns:
            now_ns += 1_000_000
        assert spent_ns <= share * now_ns + 1
        sampler.spend(now_ns, cost_ns)
        spent_ns += cost_ns


@pytest.mark.parametrize("frame_us", [100, 1_500, 40_000])
@pytest.mark.parametrize("sample_us", [20, 3_500, 200_000])
@pytest.mark.parametrize("report_us", [0, 50, 4_000])
def test_all_of_measuring_stays_within_its_share(frame_us: int, sample_us: int, report_us: int) -> None:
    """Samples and ten reports a second stay within the share together, and in the long run use all of it."""
    run = Simulation(frame_us * 1000, sample_us * 1000)
    told_ns, told_samples, reports = 0, 0, 0
    while run.now_ns < 60_000_000_000:
        is_told = run.samples > told_samples and run.now_ns - told_ns >= 100_000_000
        run.frame(with_report_ns=report_us * 1000 if is_told else 0)
        if is_told:
            told_ns, told_samples, reports = run.now_ns, run.samples, reports + 1
    assert reports > 10
    # The last sample and report are not yet paid for.
    least = (sample_us + report_us) * 1000 / (run.now_ns + run.frame_ns)
    assert run.share <= SHARE + least
    assert run.share >= 0.9 * SHARE or frame_us > sample_us


def test_time_without_samples_pays_for_nothing_later() -> None:
    """A long pause doesn't shorten the wait after the next sample."""
    sampler = Sampler(0.05)
    sampler.spend(0, 1_000)
    sampler.spend(10**12, 1_000)
    assert sampler.due_ns == 10**12 + 20_000


def test_what_was_spent_before_a_sample_was_due_adds_up() -> None:
    """The build of a copy and its first sample both count before the next sample is due."""
    sampler = Sampler(0.05)
    sampler.spend(100, 1_000)
    sampler.spend(200, 2_000)
    assert sampler.due_ns == 100 + 20 * 3_000


def test_edits_bring_a_sample_soon_but_no_flood() -> None:
    """After an edit a sample is due within two seconds, and slow samples come at most once in two seconds."""
    chance, run = random.Random(3), Simulation(1_000_000, 300_000_000)
    edited_ns = run.now_ns
    while run.now_ns < 60_000_000_000:
        run.frame()
        if run.now_ns - edited_ns >= chance.randrange(50_000_000, 150_000_000):
            edited_ns = run.now_ns
            run.sampler.begin_again(run.now_ns)
            assert run.sampler.due_ns <= run.now_ns + 2_000_000_000
    assert 10 < run.samples <= 31
