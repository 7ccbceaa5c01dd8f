"""Log records reach the outputs that want their level and no others; a log buffer has a size limit."""

import logging
import threading

from warploom.engine.logs import (
    ROOT,
    LogBuffer,
    Logged,
    attach,
    detach,
    follow_level,
    log_again,
    set_level,
    wanted_level,
)

_log = logging.getLogger("warploom.tested")


def texts(log_buffer: LogBuffer) -> list[str]:
    return [record.text for record in log_buffer.take()[0]]


def test_an_output_gets_the_records_of_its_level(log_buffer: LogBuffer) -> None:
    """An output receives Warploom's records of its level, oldest first, and none of other libraries."""
    for name in (ROOT, "warploom.a.b", "other"):
        logging.getLogger(name).info("of %s", name)
    _log.debug("no")
    assert texts(log_buffer) == ["of warploom", "of warploom.a.b"]
    assert texts(log_buffer) == []


def test_attaching_and_ending_twice_is_as_once() -> None:
    """Attaching an output twice logs each record once; detaching and ending twice raises no error."""
    before = wanted_level()
    levels: list[int] = []
    output = LogBuffer(logging.DEBUG)
    end = follow_level(levels.append)
    attach(output)
    attach(output)
    _log.debug("once")
    assert texts(output) == ["once"]
    for _ in range(2):
        detach(output)
    assert wanted_level() == before
    end()
    end()
    attach(output)
    detach(output)
    assert levels == [before, logging.DEBUG, before]


def test_records_are_made_from_the_lowest_level_that_somebody_wants() -> None:
    """The lowest level that an output wants applies; without one, the program that imports Warploom decides."""
    assert logging.getLogger(ROOT).level == logging.NOTSET
    levels: list[int] = []
    end = follow_level(levels.append)
    coarse, fine = LogBuffer(logging.ERROR), LogBuffer(logging.DEBUG)
    attach(coarse)
    attach(fine)
    set_level(fine, logging.INFO)
    detach(fine)
    detach(fine)
    detach(coarse)
    end()
    attach(coarse)
    detach(coarse)
    usual = wanted_level()
    assert levels == [usual, logging.ERROR, logging.DEBUG, logging.INFO, logging.ERROR, usual]


def test_a_late_reader_gets_the_newest_records_and_is_told_how_many_are_lost() -> None:
    """A full buffer drops its oldest records, so it never holds more than its limit, and counts them."""
    log_buffer = LogBuffer(limit=3)
    attach(log_buffer)
    try:
        for number in range(8):
            _log.info("%d", number)
            assert log_buffer.waiting <= 3
        records, dropped = log_buffer.take()
        assert ([record.text for record in records], dropped) == (["5", "6", "7"], 5)
        _log.info("8")
        assert log_buffer.take()[1] == 0
    finally:
        detach(log_buffer)


def test_no_record_is_lost_or_doubled_between_threads() -> None:
    """The records taken and those dropped add up to all that was logged. Each thread's records keep their order."""
    log_buffer, taken, dropped = LogBuffer(limit=50), list[Logged](), 0
    attach(log_buffer)
    try:

        def work(name: str) -> None:
            for number in range(500):
                _log.info("%s %d", name, number)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            records, gone = log_buffer.take()
            taken += records
            dropped += gone
        records, gone = log_buffer.take()
        taken += records
        assert len(taken) + dropped + gone == 1500
        for name in "abc":
            numbers = [int(record.text[2:]) for record in taken if record.text[0] == name]
            assert numbers == sorted(set(numbers))
    finally:
        detach(log_buffer)


def test_a_record_keeps_its_traceback_and_where_it_came_from(log_buffer: LogBuffer) -> None:
    """A record stores its traceback as text, so that the exception and the objects it refers to can be freed."""
    try:
        raise ZeroDivisionError("oh")
    except ZeroDivisionError:
        _log.exception("no %s", "luck")
    (record,) = log_buffer.take()[0]
    assert (record.level, record.logger, record.text) == (logging.ERROR, "warploom.tested", "no luck")
    assert record.trace.startswith("Traceback") and record.trace.endswith("ZeroDivisionError: oh")
    assert record.thread == threading.current_thread().name


def test_a_text_that_does_not_fit_its_arguments_is_listed_as_it_is(log_buffer: LogBuffer) -> None:
    """A record whose arguments don't fit its text is listed with the text unchanged, and the caller does not fail."""
    fields = {"name": "warploom.tested", "levelno": logging.INFO, "msg": "%d nodes", "args": ("three",)}
    log_buffer.handle(logging.makeLogRecord(fields))
    (text,) = texts(log_buffer)
    assert text.startswith("%d nodes (")


def test_a_record_of_another_process_is_logged_with_its_own_time_and_place(log_buffer: LogBuffer) -> None:
    """A record from another process is logged with its own time and place, if an output wants its level."""
    record = Logged(12.5, logging.WARNING, "warploom.there", "100 %s {0}", "Traceback\nboom", "warploom-engine", 4711)
    log_again(record)
    log_again(Logged(13.0, logging.DEBUG, "warploom.there", "no"))
    assert log_buffer.take() == ((record,), 0)
