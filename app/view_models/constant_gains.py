"""What compiling a parameter into a kernel has gained: the time of the block before and now."""

from warploom.engine.figures import format_time
from warploom.engine.protocol.messages import FrameReport


class ConstantGains:
    """Keeps the times that blocks took before a parameter became a constant, or was passed again."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], tuple[int, bool]] = {}

    def begin(self, node: str, name: str, report: FrameReport | None, *, is_constant: bool) -> None:
        """Keep the time of a block, whose parameter is about to become a constant, or to be passed again."""
        time_ns = _time_ns(node, report)
        if time_ns is not None:
            self._before[node, name] = time_ns, is_constant
        else:
            self._before.pop((node, name), None)

    def text(self, node: str, name: str, report: FrameReport | None, *, is_constant: bool) -> str:
        """Return a line with both times; "" if one is unknown, or the parameter has been changed by other means."""
        before, now_ns = self._before.get((node, name)), _time_ns(node, report)
        if before is None or now_ns is None or before[1] is not is_constant:
            return ""
        other = "passed to the kernel" if is_constant else "compiled in"
        return f"The block takes {format_time(now_ns)} now, and took {format_time(before[0])} with {name} {other}"


def _time_ns(node: str, report: FrameReport | None) -> int | None:
    found = report.nodes.get(node) if report is not None else None
    return found.time_ns if found is not None else None
