"""The lines of the log and their filter."""

import logging
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from warploom.app.docks.log import _LogRows
from warploom.app.view_models.lists.log_lines import Line
from warploom.app.widgets.list_table import RowFilter
from warploom.engine.logs import Logged

LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


def told(
    text: str, level: int = logging.INFO, trace: str = "", logger: str = "warploom.engine.runtime.frame.thread"
) -> Logged:
    return Logged(1.25, level, logger, text, trace, "main", 7)


def test_a_line_says_when_how_severe_where_and_what() -> None:
    """A line shows time, level, logger, the first line of the text, an exception's last line, and the count."""
    trace = "Traceback (most recent call last):\n  File x\nKeyError: 'gone'"
    line = Line(told("failed\nbadly", logging.ERROR, trace), 3)
    assert line.texts[0].endswith(":01.250")
    assert line.texts[1:] == ("Error", "frame.thread", "failed: KeyError: 'gone' (×3)")
    assert line.details.splitlines()[:2] == ["failed", "badly"]
    assert "In the thread main of process 7" in line.details and line.details.endswith(trace)
    assert line.copied.splitlines()[1] == "badly (×3)" and line.copied.endswith(trace)


def test_a_filter_finds_text_level_and_logger() -> None:
    """A filter matches text, level and logger in any case, even inside a traceback."""
    records = [told("Alpha"), told("beta", logging.WARNING, "alphabet"), told("alpha", logging.DEBUG), told("gamma")]
    for level, text, found in (
        (logging.INFO, "", ["Alpha", "beta", "gamma"]),
        (logging.INFO, "alpha", ["Alpha", "beta"]),
        (logging.WARNING, "alpha", ["beta"]),
        (logging.DEBUG, "alpha", ["Alpha", "beta", "alpha"]),
        (logging.INFO, "frame.thread", ["Alpha", "beta", "gamma"]),
        (logging.ERROR, "", []),
    ):
        assert [record.text for record in records if Line(record).fits(level, text)] == found


class FewRows(_LogRows):
    """A log of at most six rows."""

    LIMIT = 6


@given(
    st.lists(
        st.one_of(
            st.lists(st.tuples(st.sampled_from("aab"), st.sampled_from(LEVELS)), max_size=4),
            st.tuples(st.sampled_from(LEVELS), st.sampled_from(("", "a"))),
            st.just("clear"),
        ),
        max_size=12,
    )
)
def test_what_is_shown_is_what_the_filter_fits(steps: list[object]) -> None:
    """After any sequence of records and filters, the list shows the matching records in order, up to its limit."""
    rows = FewRows(None)  # type: ignore[arg-type]  # it needs no parent
    shown = RowFilter(rows)
    every: list[Logged] = []
    wanted = logging.NOTSET, ""
    for step in steps:
        match step:
            case "clear":
                rows.set_rows(())
                every = []
            case tuple((int() as level, str() as text)):
                wanted = level, text
                shown.choose(lambda line, level=level, text=text: line.fits(level, text))  # type: ignore[misc]
            case list():
                new = [told(text, level) for text, level in step]
                every += new
                rows.add_records(new)
        lines = rows.rows
        assert len(lines) <= 6
        spread = [line.record for line in lines for _ in range(line.count)]
        assert spread == every[len(every) - len(spread) :]
        found = [shown.index(row, 0).data(Qt.ItemDataRole.UserRole) for row in range(shown.rowCount())]
        assert found == [line for line in lines if line.fits(*wanted)]
        assert all(a.record != b.record for a, b in pairwise(lines))
