"""The host device against results that were recorded on a GPU."""

from pathlib import Path

import pytest

from tests.fuzzing import FACTOR
from tests.gpu.differential.compare import Count, compare, table
from tests.gpu.differential.departures import DEPARTURES
from tests.gpu.differential.execute import Runner
from tests.gpu.differential.recording import LANES, THREADS, Recording, read
from tests.gpu.differential.tables import FORMS
from warploom.engine.device.host.device import HostDevice

_FOLDER = Path(__file__).parent / "recorded"
_FAMILIES = tuple(dict.fromkeys(form.family for form in FORMS))


@pytest.fixture(scope="module")
def recording() -> Recording:
    """The recorded results; without a recording, the test is skipped."""
    files = sorted(_FOLDER.glob("*.npz"))
    if not files:
        pytest.skip(f"no recording in {_FOLDER}; make one with python -m tests.gpu.differential.record on a GPU")
    return read(files[-1])


@pytest.mark.parametrize("is_optimised", [True, False], ids=["optimised", "quick"])
@pytest.mark.parametrize("family", _FAMILIES)
def test_the_host_gives_what_a_gpu_gave(
    optimised_host: HostDevice, quick_host: HostDevice, recording: Recording, family: str, is_optimised: bool
) -> None:
    """Every recorded form computes the GPU's results from the recorded inputs.

    Only `make fuzz` runs all forms in optimised code, which takes nine times as long to compile.
    """
    forms = [form for form in FORMS if form.family == family and recording.covers(form)]
    if FACTOR == 1:
        forms = [form for index, form in enumerate(forms) if (index % 4 == 0) == is_optimised]
    host = optimised_host if is_optimised else quick_host
    runner = Runner(host, LANES, THREADS, vectorised=False)
    results = runner.run(forms, {form.name: recording.given(form) for form in forms}, recording.zones)
    counts = {form.name: Count(form) for form in forms if form.name in results.values}
    for count in counts.values():
        compare(count.form, recording.given(count.form), results, recording.results, count)
    wrong = [name for name, count in counts.items() if count.mismatches and name not in DEPARTURES]
    assert not wrong, table(counts, runner, Runner(host, LANES))
    assert not runner.failed


def test_the_recording_is_of_these_forms(recording: Recording) -> None:
    """At least nine in ten forms are in the recording unchanged; otherwise, record again."""
    assert sum(recording.covers(form) for form in FORMS) > 0.9 * len(FORMS)
