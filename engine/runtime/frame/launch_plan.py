"""The plan of a frame: whether the engine waits for it, how many are launched at once, and which one is reported."""

import msgspec

from warploom.engine.compiler.frame import MOST_BURSTS
from warploom.engine.protocol.pacing import Pacing


class LaunchPlan(msgspec.Struct, frozen=True):
    """The steps of `CudaEngine.frame` after its first launch.

    It launches `burst` frames in all, `waits` for the device, and `reports` the last frame. `in_flight` frames may then
    be under way.
    """

    waits: bool
    burst: int = 1
    in_flight: int = 1
    reports: bool = True


_WAITED, _IDLE = LaunchPlan(waits=True), LaunchPlan(waits=False)


def plan_launches(
    *,
    is_busy: bool,
    is_launched: bool = True,
    can_overlap: bool = False,
    pacing: Pacing = Pacing(),  # noqa: B008 - frozen
    is_live: bool = False,
    has_status: bool = False,
    is_updated: bool = False,
    frames_left: int | None = None,
    is_special: bool = False,
    burst: int = 1,
    is_report_due: bool = True,
) -> LaunchPlan:
    """Return the plan of a frame from facts about the engine; most of them matter only if it `can_overlap` the next.

    `is_busy`: the device may have work, of this frame or of earlier ones. `can_overlap`: the engine plays freely, on a
    device that works beside Python, and no sentinel may freeze the frame.

    `is_launched`: the frame does not only repeat the last one. `is_live`: a person may be waiting for the results of an
    edit or of input. `has_status`: status words are due to be read. `is_updated`: something was updated in this frame.
    `frames_left` are counted down, with this one; None plays on. `is_special`: this frame differs from the next ones,
    or each frame is measured. A burst may have up to `burst` frames. `is_report_due`: the last report is old, or of a
    frame that was waited for.
    """
    alone = _WAITED if is_busy else _IDLE
    if not can_overlap:
        return alone
    free = pacing.rate is None
    if not (free and not is_live if pacing.overlap is None else pacing.overlap):
        return alone
    waits = has_status if is_launched else is_busy
    if burst > 1 and (is_updated or is_special or frames_left is not None or waits or not (is_launched and free)):
        burst = 1  # the next frames need more than a launch
    reports = is_updated or frames_left == 1 or is_report_due
    return LaunchPlan(waits, burst, MOST_BURSTS * burst, reports)
