"""The engine's clock: the time in a patch, in fixed steps, in real time, by another clock, or by a film's frames."""

import math

from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.diagnostics import WarploomError

#: The longest step of real time, in seconds. After a longer stall (a suspended laptop, a long build) the patch's time
#: falls behind the wall clock: one huge step would make most simulations explode.
LONGEST_STEP_S = 0.1
_LONGEST_STEP_NS = round(LONGEST_STEP_S * 1e9)
#: A film that is late by more than this goes on where it was: frames are left out only for shorter stalls.
LATEST_NS = 1_000_000_000


class Clock:
    """Owns the one `Moment` of an engine and advances it frame by frame.

    In **fixed** time, frame n is at n * `time_step_s` on any machine, for any frame time. In **real** time, a frame is
    later than the one before by the time that has passed on the wall clock, at most `LONGEST_STEP_S`. Frame 0 and the
    first frame after a pause have no previous frame and take one `time_step_s` in real time too: pausing stops time,
    and a single step by hand has that size.

    In a **film** (`set_film`), frame n is at n / rate seconds however it is reached, and each frame lasts its full
    step, also one that is shown again. In real time, late frames are left out, unless every one is to be shown.

    A frame may be at a **given** time (`set_time`), which another clock keeps. Its step is that since the frame before,
    from 0 to `LONGEST_STEP_S`.

    Fixed, real and given frames may follow each other. `Moment` holds float64 seconds, and real time is counted in
    whole nanoseconds, so rounding errors don't accumulate. Kernels get float32: a step keeps its precision, but a time
    is exact to 8 ms after a day and to 63 ms after a week. A kernel that has to move smoothly for days should
    accumulate `time_step` in a state buffer, wrapped to its own period, or take a phase from a value block, which has
    float64.
    Raise WarploomError if the time step is not a positive number.
    """

    def __init__(self, time_step_s: float = 1 / 60) -> None:
        if not (math.isfinite(time_step_s) and time_step_s > 0):
            raise WarploomError(
                f"time step must be a positive number of seconds, got {time_step_s}; a usual one is 1/60"
            )
        self.time_step_s = time_step_s
        self.moment = Moment(time_step_s=time_step_s)
        #: The moment is that of the next frame already, if it is one fixed step after the last.
        self.is_set = False
        #: The moment is that of the last frame, which is shown again.
        self.repeats = False
        self._began_ns: int | None = None  # when the last frame began, if the next one is measured from there
        # The origin of fixed steps.
        self._origin_frame, self._origin_ns = 0, 0
        #: The frames a second of a film; None for a patch that is no film.
        self.rate: float | None = None
        self._leaves_out = False
        self._usual_step_s = time_step_s
        #: How many late frames were left out.
        self.left_out = 0
        self._played_from = (0, 0)  # a frame of a film, and when it began
        #: The time that the next frame is given, and the time of the last frame that has ended.
        self._given_s: float | None = None
        self._last_s: float | None = None

    def set_film(self, rate: float | None, *, leaves_out: bool = False) -> None:
        """Follow the frames of a film of so many a second; None ends that. It `leaves_out` late ones in real time."""
        if rate is None and self.rate is not None:
            self._origin_frame, self._origin_ns = self.moment.frame, round(self.moment.time_s * 1e9)
        self.rate, self._leaves_out = rate, leaves_out
        self.time_step_s = self._usual_step_s if rate is None else 1 / rate
        self.hold()
        self._take_step(True)

    def seek(self, frame: int, time_s: float | None = None) -> None:
        """Go to a frame, whose time is that of fixed steps from frame 0, or another one; a film has its own."""
        self.hold()
        self.repeats, self._last_s, self._given_s = False, None, None
        self.moment.frame = frame
        self._origin_frame, self._origin_ns = (0, 0) if time_s is None else (frame, round(time_s * 1e9))
        self._take_step(True)
        self.is_set = True

    def set_time(self, time_s: float) -> None:
        """Give the next frame that advances a time; a film has its own."""
        if self.rate is None:
            self._given_s, self.is_set = time_s, False

    @property
    def next_frame(self) -> int:
        """The number of the frame that comes next, also while the last one is shown again."""
        return self.moment.frame + self.repeats

    def begin(self, now_ns: int, *, advance: bool, real: bool) -> None:
        """Set the moment of a frame that begins at `now_ns`; without `advance`, the patch's time does not change."""
        moment, time_step_s = self.moment, self.time_step_s
        self.is_set = False
        if self._given_s is not None and advance and self.rate is None:
            time_s, self._given_s = self._given_s, None
            self._origin_frame, self._origin_ns = moment.frame, round(time_s * 1e9)
            self._began_ns = now_ns if real else None
            step_s = time_step_s if self._last_s is None else min(max(time_s - self._last_s, 0.0), LONGEST_STEP_S)
            moment.time_s, moment.time_step_s = time_s, step_s
            return
        if self.rate is not None:
            before = moment.frame
            if not (real and advance and self._leaves_out):
                self._began_ns = None
            else:
                self._leave_out(now_ns)
            self._take_step(True)
            moment.time_step_s = max(min((moment.frame - before + 1) * time_step_s, LONGEST_STEP_S), time_step_s)
            return
        if real or self._began_ns is not None:
            began_ns, self._began_ns = self._began_ns, now_ns if advance and real else None
            if self._began_ns is not None and began_ns is not None:
                step_ns = min(now_ns - began_ns, _LONGEST_STEP_NS)
                if fixed_steps := moment.frame - 1 - self._origin_frame:
                    self._origin_ns += round(fixed_steps * time_step_s * 1e9)
                self._origin_ns += step_ns
                self._origin_frame = moment.frame
                moment.time_s, moment.time_step_s = self._origin_ns / 1e9, step_ns / 1e9
                return
        self._take_step(advance)

    def _leave_out(self, now_ns: int) -> None:
        """Go on to the frame that is due if more than one is late."""
        moment, began_ns, (frame, since_ns) = self.moment, self._began_ns, self._played_from
        self._began_ns = now_ns
        if began_ns is None or now_ns - began_ns > LATEST_NS:
            self._played_from = moment.frame, now_ns
            return
        due = frame + int((now_ns - since_ns) / (self.time_step_s * 1e9))
        if due > moment.frame:
            self.left_out += due - moment.frame
            moment.frame = due

    def end(self) -> None:
        """Go on to the next frame, after one that began with `advance`."""
        self._last_s = self.moment.time_s
        self.moment.frame += 1
        if self._began_ns is None:
            self._take_step(True)
            self.is_set = True

    def back(self) -> None:
        """Return to the previous frame, which did not finish; it must `begin` again."""
        self.moment.frame -= 1
        self.is_set, self._last_s = False, None

    def repeat(self) -> bool:
        """Return to the last frame, to show it again; `resume` must follow.

        Return False, and change nothing, if the frame that comes next follows no other one.
        """
        if self._last_s is None:
            return False
        self.hold()
        moment = self.moment
        moment.frame, moment.time_s = moment.frame - 1, self._last_s
        moment.time_step_s = 0.0 if self.rate is None else self.time_step_s
        self.repeats = True
        return True

    def resume(self) -> None:
        """Go on to the next frame, after one that was shown again."""
        self.moment.frame += 1
        self._take_step(True)
        self.is_set, self.repeats = self._given_s is None, False

    def hold(self) -> None:
        """Stop real time until the next frame."""
        self._began_ns = None

    def reset(self) -> None:
        """Go back to frame 0 at time 0."""
        self.hold()
        self.repeats, self._last_s, self._given_s = False, None, None
        self._origin_frame, self._origin_ns = 0, 0
        self.moment.frame, self.moment.time_s, self.moment.time_step_s = 0, 0.0, self.time_step_s
        self.is_set = True

    def _take_step(self, advance: bool) -> None:
        moment = self.moment
        if self.rate is not None:
            moment.time_s, moment.time_step_s = moment.frame / self.rate, self.time_step_s
            return
        moment.time_s = self._origin_ns / 1e9 + (moment.frame - self._origin_frame) * self.time_step_s
        moment.time_step_s = self.time_step_s if advance else 0.0
