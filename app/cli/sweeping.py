"""`warploom sweep`: a patch over parameters, files and frames."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from warploom.app.cli.headless import apply_settings, require_folder
from warploom.app.console import progress
from warploom.app.documents.trust.trust import open_patch
from warploom.engine.diagnostics import PatchError, printable
from warploom.engine.sweeps.sweep import Sweep


def sweep_headless(
    *,
    patch: Path,
    grid: Sequence[str],
    files: Sequence[str],
    frames: Sequence[range | int],
    jobs: int | None,
    dask: str | None,
    task: str | None,
    device: str,
    settings: Sequence[str],
    out: Path,
    as_json: bool,
    trust: bool,
    reported: dict[str, Any],
) -> int:
    """Run a sweep, report it on the terminal and in `reported`, and return the exit status."""
    require_folder(out)
    opened = open_patch(patch, trust=trust)
    apply_settings(opened, settings)
    given = {"grid": _by_target("--grid", grid), "files": _by_target("--files", files)}
    sweep = Sweep(opened, out=out, frames=frames or None, jobs=jobs, dask=dask, device=device, task=task, **given)
    known: set[str] = set()  # a patch with a mistake fails in all runs alike
    repeated = 0
    try:
        with (
            progress(f"sweep of {patch.name}", sweep.left, show=not as_json) as advance,
            closing(sweep.run()) as ended,
        ):
            for record in ended:
                advance()
                if record.state == "failed" and record.message not in known:
                    values = ", ".join(f"{target}={value}" for target, value in record.values.items())
                    click.echo(printable(f"run {record.run} ({values}) failed: {record.message}"), err=True)
                    known.add(record.message)
                elif record.state == "failed":
                    repeated += 1
                for warning in dict.fromkeys(record.warnings):
                    if warning not in known:
                        click.echo(printable(warning), err=True)
                    known.add(warning)
    finally:
        failed = [record for record in sweep.records.values() if record.state == "failed"]
        done = len(sweep.records) - len(failed)
        reported |= {
            "runs": len(sweep.runs),
            "done": done,
            "failed": len(failed),
            "left": sweep.left,
            "skipped": sweep.skipped,
            "table": str(sweep.table_paths[0]),
            "failures": [{"run": record.run, "values": record.values, "message": record.message} for record in failed],
        }
        if repeated:
            click.echo(f"{repeated:,} more failed with these messages; the table has the message of each run", err=True)
        if sweep.left:
            click.echo(f"{sweep.left:,} of {len(sweep.runs):,} runs are left; the same command goes on", err=True)
    if not as_json:
        before = f" ({sweep.skipped:,} of them before)" if sweep.skipped else ""
        click.echo(f"{done:,} of {len(sweep.runs):,} runs are done{before}, {len(failed):,} failed")
        for path in sweep.table_paths:
            click.echo(f"wrote {path}")
    return 1 if failed else 0


def _by_target(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return the texts after "=", by what stands before it."""
    found: dict[str, str] = {}
    for text in given:
        target, equals, values = text.partition("=")
        if not equals or "." not in target:
            raise click.BadParameter(f"{option} must be NODE.PARAM=VALUES, got {text!r}")
        if target in found:
            raise PatchError(f"{option} must be given once for {target}, got it twice")
        found[target] = values
    return found
