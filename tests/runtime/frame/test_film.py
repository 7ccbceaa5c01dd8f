"""Films: in and out, loops, late frames, and going to a frame, by an engine on its own thread and frame by frame."""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.protocol.messages import FrameReport, Reset, Seek, SetRunning
from warploom.engine.runtime.frame import player as player_module
from warploom.engine.runtime.frame.clock import Clock


@pytest.fixture
def counter() -> Patch:
    """A film of 12 frames: `total.out` is the number of frames that were run, ten times `at.out` the frame's number."""
    patch = Patch()
    one = patch.add("io.array", data=np.ones(1, np.float32))
    total, delay = patch.add("math.add", node_id="total"), patch.add("buffer.frame_delay")
    patch.connect(one["out"], total["x"])
    patch.connect(delay["out"], total["y"])
    patch.connect(total["out"], delay["x"])
    at = patch.add("math.scale_offset", node_id="at")
    patch.connect(one["out"], at["x"])
    patch.animate(at, "scale", [(0, 0.0, "linear"), (4, 9.6)])
    patch.set_timeline(rate=24, length=12)
    return patch


class Player:
    """Runs an engine's frames as its thread does, one by one, without waiting for their times."""

    def __init__(self, patch: Patch) -> None:
        self.engine = Engine(patch, "host")
        self.engine.step()
        self.engine.post(Reset())
        self.pause()

    def turn(self) -> FrameReport:
        """Run one turn of the thread."""
        return self.engine.core.frame(free_running=True)

    def pause(self) -> FrameReport:
        """Pause, and show where the film is."""
        self.engine.post(SetRunning(False))
        return self.turn()

    def go(self, frame: int, *, exact: bool = True) -> FrameReport:
        """Go to a frame, and show it."""
        self.engine.post(Seek(frame, exact))
        report = self.turn()
        while report.replay_to is not None or self.engine.core.player.shows_next:
            report = self.turn()
        return report

    def shown(self) -> tuple[int, int]:
        """Return the number of frames that were run, with the one that is shown, and its number."""
        total, at = (float(self.engine.read(self.engine.patch[node]["out"])[0]) for node in ("total", "at"))
        return round(total), round(10 * at)


@pytest.fixture
def player(counter: Patch) -> Iterator[Player]:
    """An engine that is paused at frame 0."""
    made = Player(counter)
    yield made
    made.engine.close()


def test_a_paused_film_shows_where_it_is(player: Player) -> None:
    """Frame 0 is shown, then by steps 1 and 2; each is as in a run, and showing it again changes nothing."""
    assert player.shown() == (1, 0)
    for frame in (1, 2):
        player.engine.post(SetRunning(True, 1))
        player.turn()
        report = player.turn()
        assert (report.frame, report.running, report.exact) == (frame, False, True)
        assert report.time_s == frame / 24 and player.shown() == (frame + 1, frame)
        player.pause()
        assert player.shown() == (frame + 1, frame)


def test_going_to_a_frame_exactly_runs_those_before_it(player: Player) -> None:
    """Any frame, forwards or backwards, is as in a run from 0; the engine stays paused, or plays on."""
    for frame in (7, 3, 11, 0, 5):
        report = player.go(frame)
        assert (report.frame, report.exact, report.running) == (frame, True, False)
        assert player.shown() == (frame + 1, frame)
    player.engine.post(SetRunning(True))
    assert player.turn().running
    report = player.go(9)
    assert report.running and player.turn().frame >= 9


@pytest.mark.parametrize("plays", [False, True])
def test_an_exact_frame_before_the_first_graph_is_awaited(counter: Patch, plays: bool) -> None:
    """A frame that is sought before the graph is built is, once it is built, as in a run from 0."""
    engine = Engine(counter, "host")
    try:
        engine.post(SetRunning(plays))
        engine.post(Seek(7, exact=True))
        report = engine.core.frame(free_running=True)
        while not (report.frame == 7 and report.replay_to is None):
            report = engine.core.frame(free_running=True)
        assert report.exact and report.running is plays
        assert round(float(engine.read(counter["total"]["out"])[0])) == 8
    finally:
        engine.close()


def test_a_frame_sought_before_the_first_graph_may_be_given_up(counter: Patch) -> None:
    """A reset, or another frame, takes the place of one that was sought before there was a graph."""
    for message, frame in ((Reset(), 0), (Seek(3, exact=True), 3)):
        engine = Engine(counter, "host")
        try:
            engine.post(SetRunning(False))
            engine.post(Seek(7, exact=True))
            engine.core.frame(free_running=True)
            engine.post(message)
            while engine.core.has_work:
                report = engine.core.frame(free_running=True)
            assert (report.frame, report.exact, report.replay_to) == (frame, True, None)
        finally:
            engine.close()


@pytest.mark.parametrize("exact", [False, True])
def test_a_patch_without_a_timeline_shows_the_frame_that_it_went_to(counter: Patch, exact: bool) -> None:
    """In a pause it shows that frame, not the last of those that were run to get there; a step runs it."""
    counter.remove_annotation("timeline", "No film")
    with Engine(counter, "host") as engine:
        engine.step()
        engine.post(SetRunning(False))
        engine.post(Seek(5, exact))
        while engine.core.has_work:
            report = engine.core.frame(free_running=True)
        assert (report.frame, report.time_s, report.replay_to) == (5, 5 / 60, None)
        engine.post(SetRunning(True, frames=1))
        assert engine.core.frame(free_running=True).frame == 5
        assert round(float(engine.read(counter["total"]["out"])[0])) == (6 if exact else 2)


def test_an_edit_of_a_frozen_frame_of_a_film_shows_that_frame_again(counter: Patch, player: Player) -> None:
    """Delays show what they did in that frame, as everything else does, and the next frame follows it."""
    counter.set_sentinel(counter["total"]["out"], maximum=4.5, action="freeze")
    while player.engine.core.has_work:
        player.turn()
    player.engine.post(SetRunning(True))
    while player.turn().running:
        pass
    assert player.shown() == (5, 4)
    for offset in (0.01, 0.02):
        counter.set("at", offset=offset)
        assert player.turn().frame == 4
        assert player.shown() == (5, 4)
    counter.remove_sentinel(counter["total"]["out"])
    player.engine.post(SetRunning(True, 1))
    assert (player.turn().frame, player.shown()[0]) == (5, 6)


def test_without_a_graph_the_film_goes_to_a_frame() -> None:
    """A patch without blocks goes to a frame, too."""
    patch = Patch()
    patch.set_timeline(rate=24, length=12)
    with Engine(patch, "host") as engine:
        engine.post(SetRunning(False))
        engine.post(Seek(7, exact=True))
        while engine.core.has_work:
            report = engine.core.frame(free_running=True)
        assert (report.frame, report.exact) == (7, True)


def test_going_to_a_frame_otherwise_keeps_the_state_and_says_so(player: Player) -> None:
    """The frame has its number and keys, with the state as it is; frame 0 always begins again, and is exact."""
    player.go(3)
    report = player.go(8, exact=False)
    assert (report.frame, report.exact) == (8, False) and player.shown() == (4, 8)
    report = player.go(0, exact=False)
    assert (report.frame, report.exact) == (0, True) and player.shown() == (1, 0)


def test_without_state_every_frame_is_exact(counter: Patch) -> None:
    """No frame is run to reach another."""
    counter.remove("frame_delay")
    counter.remove("total")
    player = Player(counter)
    with player.engine as engine:
        launches = engine.core.launcher.launches
        report = player.go(9)
        assert (report.frame, report.exact) == (9, True)
        assert engine.core.launcher.launches == launches + 1


def test_states_are_kept_until_an_edit(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """Going back takes the nearest kept state; after an edit all frames are run again, and are those of the edit."""
    monkeypatch.setattr(player_module, "SPACING", 4)
    player.engine.core.player.note_edit()
    player.go(11)
    launches = player.engine.core.launcher.launches
    player.go(9)
    assert player.shown() == (10, 9)
    assert player.engine.core.launcher.launches == launches + 2  # frame 8, and frame 9 as it is shown
    player.engine.patch.set("array", data=np.full(1, 2, np.float32))
    while player.turn().preparing:
        time.sleep(0.001)
    assert not player.pause().exact
    assert player.go(10).exact and player.shown()[0] == 22


def test_kept_states_are_bounded(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more bytes than allowed, fewer states are kept."""
    monkeypatch.setattr(player_module, "SPACING", 1)
    film = player.engine.core.player
    film.note_edit()
    player.go(2)
    monkeypatch.setattr(player_module, "MOST_BYTES", 3 * next(iter(film._kept.values())).size_bytes)
    player.go(11)
    assert 1 <= len(film._kept) <= 3 and player.go(7).exact and player.shown() == (8, 7)


def test_a_film_loops_from_out_to_in(player: Player) -> None:
    """It begins again at in: at frame 0 with new state, elsewhere with the right one if frames are exact."""
    patch = player.engine.patch
    player.engine.post(SetRunning(True))
    frames = [player.turn().frame for _ in range(14)]
    assert frames == [*range(12), 0, 1] and player.shown() == (2, 1)
    patch.set_timeline(first=2, last=4)
    player.go(2)
    frames = [player.turn().frame for _ in range(6)]
    assert frames == [3, 4, 2, 3, 4, 2]  # the state before frame 2 is kept
    total, at = player.shown()
    assert total == at + 1


def test_a_film_that_does_not_loop_ends_at_its_last_frame(player: Player) -> None:
    """It pauses there; play begins it again."""
    player.engine.patch.set_timeline(loop=False)
    player.engine.post(SetRunning(True))
    for _ in range(14):
        report = player.turn()
    assert (report.frame, report.running) == (11, False) and player.shown() == (12, 11)
    player.engine.post(SetRunning(True))
    player.turn()
    assert player.turn().frame <= 1


def test_another_rate_keeps_the_frame(player: Player) -> None:
    """At another rate the same frame has another time; without a timeline, time goes on from there."""
    player.go(6)
    player.engine.patch.set_timeline(rate=12)
    report = player.turn()
    assert (report.frame, report.time_s) == (6, 0.5)
    player.engine.patch.remove_annotation("timeline")
    assert player.engine.step().time_s == pytest.approx(0.5)
    assert player.engine.step().time_s == pytest.approx(0.5 + 1 / 60)


def test_late_frames_are_left_out_unless_every_one_is_to_be_shown() -> None:
    """Time and frame stay together, and a long stall is not made up for."""
    clock = Clock()
    clock.set_film(10.0, leaves_out=True)
    seen = []
    for now_s in (0.0, 0.1, 0.25, 0.5, 0.6, 5.0, 5.1):
        clock.begin(round(now_s * 1e9) + 5_000_000, advance=True, real=True)
        seen.append((clock.moment.frame, clock.moment.time_s))
        clock.end()
    assert [frame for frame, _ in seen] == [0, 1, 2, 5, 6, 7, 8] and clock.left_out == 2
    assert all(time_s == frame / 10 for frame, time_s in seen)
    clock.set_film(10.0)
    clock.begin(round(9e9), advance=True, real=True)
    assert clock.moment.frame == 9


def test_the_thread_plays_at_the_films_rate(counter: Patch) -> None:
    """On its thread, at whatever pacing was chosen, an engine plays and goes to frames."""
    counter.set_timeline(rate=200, length=1000)
    with Engine(counter, "host") as engine:
        engine.start(rate=5)
        until(engine, lambda report: report.frame > 30)
        engine.post(SetRunning(False))
        engine.post(Seek(70, exact=True))
        report = until(engine, lambda report: report.frame == 70 and not report.running and report.replay_to is None)
        assert report.exact and report.values["at.scale"] == pytest.approx(70 / 200 * 2.4)


def until(engine: Engine, holds: Callable[[FrameReport], bool]) -> FrameReport:
    """Wait for a report."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        report = engine.take_report()
        if report is not None and holds(report):
            return report
        time.sleep(0.002)
    raise AssertionError("no such report")


def test_a_timeline_is_plain_data() -> None:
    """Frames and times follow from the rate."""
    timeline = Timeline(rate=24, length=48)
    assert (timeline.end, timeline.time_s(12), timeline.frame_at(0.49)) == (47, 0.5, 12)
