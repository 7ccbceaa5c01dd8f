"""The host device against the GPU: every instruction form on the same inputs, then random programs of exact forms.

DIFFERENTIAL_COUNT (1) multiplies the rounds of inputs and the number of programs, DIFFERENTIAL_SEED (0) is the first
seed, and DIFFERENTIAL_REPORT names a file for the table.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.gpu.differential import run_programs
from tests.gpu.differential.ahead import compile_ahead
from tests.gpu.differential.compare import Count, run_both, table
from tests.gpu.differential.departures import DEPARTURES
from tests.gpu.differential.execute import Runner
from tests.gpu.differential.programs import generate
from tests.gpu.differential.tables import FORMS
from tests.gpu.differential.unoptimised import unoptimised
from warploom.engine.device.device import Device

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1800)]

COUNT, SEED = (int(os.environ.get(f"DIFFERENTIAL_{name}", default)) for name, default in (("COUNT", 1), ("SEED", 0)))
_LANES, _PROGRAMS = 1024, 16


@pytest.fixture(scope="module")
def sides(host: Device, cuda: Device) -> tuple[Runner, Runner]:
    """Runners of forms on the host and on the GPU."""
    return Runner(host, _LANES), Runner(cuda, _LANES)


@pytest.fixture(scope="module")
def counts(sides: tuple[Runner, Runner]) -> dict[str, Count]:
    """The outcomes of all forms that both devices can run."""
    compile_ahead(sides[0].texts(FORMS))
    return run_both(FORMS, *sides, range(SEED, SEED + COUNT))


def _say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")
    if "DIFFERENTIAL_REPORT" in os.environ:
        with Path(os.environ["DIFFERENTIAL_REPORT"]).open("a") as file:
            file.write(f"{text}\n\n")


def test_every_form_gives_what_the_gpu_gives(
    counts: dict[str, Count], sides: tuple[Runner, Runner], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each form's bits equal the GPU's where PTX defines them; elsewhere both are within the manual's error bound."""
    _say(capsys, table(counts, *sides))
    wrong = [name for name, count in counts.items() if count.mismatches and name not in DEPARTURES]
    assert not sides[1].refused, "forms must be valid PTX"
    assert not wrong
    assert not sides[0].failed
    assert not sides[1].failed


def test_random_programs_give_what_the_gpu_gives(
    counts: dict[str, Count], host: Device, cuda: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random programs of the exact forms give the GPU's results."""
    forms = [count.form for count in counts.values() if not count.mismatches]
    seeds = range(SEED, SEED + _PROGRAMS * COUNT)
    compile_ahead([generate(forms, seed).ptx for seed in seeds])
    outcome = run_programs.compare(forms, host, cuda, seeds, unoptimised)
    lines = [f"programs: {len(seeds)}, values {outcome.values}, programs that differ {len(outcome.wrong)}"]
    lines += [*outcome.wrong, f"only where the GPU's compiler optimises: {len(outcome.optimised)}", *outcome.optimised]
    _say(capsys, "\n".join(lines))
    assert not outcome.wrong
