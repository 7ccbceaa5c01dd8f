"""Compares two devices' results for the same forms and inputs, and prints them as a short table."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.gpu.differential.execute import Results, Runner
from tests.gpu.differential.form import Form
from tests.gpu.differential.kernel import ZONE_WORDS
from tests.gpu.differential.kinds import Bits, Kind, decode, split
from tests.gpu.differential.rules import NUMBER, Approximate, Rule
from tests.gpu.differential.samples import inputs

_EXAMPLES = 3


@dataclass
class Count:
    """Counts of the outcomes of one form, and its largest errors as fractions of the allowed error."""

    form: Form
    values: int = 0
    equal: int = 0
    mismatches: int = 0
    host_error: float = 0.0
    device_error: float = 0.0
    examples: list[str] = field(default_factory=list)


def compare(form: Form, given: Bits, host: Results, device: Results, count: Count) -> None:
    """Compare one form's results, and its zone if it has one, and add the outcome to its count."""
    operands = [
        np.stack([decode(part, kind.format) for part in split(row, kind)])
        if kind.format
        else row.astype(np.float64)[None]
        for kind, row in zip(form.inputs, given, strict=True)
    ]
    for index, kind in enumerate(form.outputs):
        pair = host.values[form.name][index], device.values[form.name][index]
        _judge(form, form.rule, kind, operands, pair, count, given, index)
    if form.zone:
        rule = NUMBER if form.zone_kind.format else Rule()
        for part, words in enumerate(zip(_words(host, form), _words(device, form), strict=True)):
            _judge(form, rule, form.zone_kind, [], words, count, None, part)


def _words(results: Results, form: Form) -> list[Bits]:
    size = form.zone_kind.bits
    parts = 64 // size
    mask = np.uint64((1 << size) - 1)
    return [(results.zones[form.name] >> np.uint64(size * part)) & mask for part in range(parts)]


def _judge(
    form: Form,
    rule: Rule,
    kind: Kind,
    operands: list[np.ndarray],
    pair: tuple[Bits, Bits],
    count: Count,
    given: Bits | None,
    index: int,
) -> None:
    host, device = pair
    verdict = rule.judge(kind, operands, host, device)
    count.values += host.size
    count.equal += int((host == device).sum())
    count.mismatches += int((~verdict.agrees).sum())
    count.host_error = max(count.host_error, verdict.host_error)
    count.device_error = max(count.device_error, verdict.device_error)
    for lane in np.flatnonzero(~verdict.agrees)[: max(_EXAMPLES - len(count.examples), 0)]:
        from_ = "zone" if given is None else ", ".join(f"{int(value):#x}" for value in given[:, lane])
        count.examples.append(
            f"lane {lane}: ({from_}) -> result {index}: host {int(host[lane]):#x}, device {int(device[lane]):#x}"
        )


def start_zones(forms: Iterable[Form], seed: int) -> dict[str, Bits]:
    """Return the initial contents of the zones."""
    rng = np.random.default_rng(seed)
    start = {
        "zero": np.zeros(ZONE_WORDS, np.uint64),
        "ones": np.full(ZONE_WORDS, 2**64 - 1, np.uint64),
        "random": rng.integers(0, 2**64 - 1, ZONE_WORDS, np.uint64, endpoint=True),
    }
    return {form.name: start[form.zone] for form in forms if form.zone}


def run_both(forms: Iterable[Form], host: Runner, device: Runner, seeds: Iterable[int]) -> dict[str, Count]:
    """Run forms on both devices with the inputs of some seeds, and count the outcomes; refused forms have no count."""
    forms = list(forms)
    counts = {form.name: Count(form) for form in forms}
    for seed in seeds:
        given = {form.name: inputs(form, host.lanes, seed) for form in forms}
        zones = start_zones(forms, seed)
        results = [runner.run(forms, given, zones) for runner in (device, host)]
        for form in forms:
            if all(form.name in side.values for side in results):
                compare(form, given[form.name], results[1], results[0], counts[form.name])
    return {name: count for name, count in counts.items() if count.values}


def _reasons(found: dict[str, str]) -> list[str]:
    """Return the forms by opcode, each with one of the reasons why it was refused."""
    opcodes: dict[str, list[str]] = {}
    for name in found:
        opcodes.setdefault(re.split(r"[ .+]", name.lstrip("@!%"))[0], []).append(name)
    return [
        f"  {opcode} ({len(names)}): {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}: {found[names[0]][:160]}"
        for opcode, names in opcodes.items()
    ]


def table(counts: dict[str, Count], host: Runner, device: Runner) -> str:
    """Return the table of families, then errors of approximate forms, refused forms, and mismatches with examples."""
    lines = [f"{'family':16}{'forms':>7}{'values':>10}{'equal bits':>12}{'mismatches':>12}"]
    families = dict.fromkeys(count.form.family for count in counts.values())
    for family in families:
        of = [count for count in counts.values() if count.form.family == family]
        sums = [sum(getattr(count, name) for count in of) for name in ("values", "equal", "mismatches")]
        lines.append(f"{family:16}{len(of):7}{sums[0]:10}{sums[1]:12}{sums[2]:12}")
    lines += ["", "worst error as a share of the manual's bound            host   device"]
    for name, count in counts.items():
        if isinstance(count.form.rule, Approximate):
            lines.append(f"  {name:50}{count.host_error:8.3f} {count.device_error:8.3f}")
    for title, found in (
        ("refused by the host", host.refused), ("failed on the host", host.failed),
        ("refused by the device", device.refused), ("failed on the device", device.failed),
    ):  # fmt: skip
        if found:
            lines += ["", f"{title}: {len(found)} forms", *_reasons(found)]
    wrong = [count for count in counts.values() if count.mismatches]
    lines += ["", f"mismatches: {len(wrong)} forms"]
    for count in wrong:
        lines.append(f"  {count.form.name}: {count.mismatches} of {count.values}")
        lines += [f"    {example}" for example in count.examples]
    return "\n".join(lines)
