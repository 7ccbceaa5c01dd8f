"""Options and arguments that several commands take."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Command = Callable[..., Any]
PATH = click.Path(path_type=Path, readable=False)  # the code that reads the file reports why it can't be read
patch_argument = click.argument("patch", type=PATH, metavar="PATCH", help="A .loom file, or an example: particles.")
device_option = click.option("--device", default="auto", metavar="auto|host|cuda:0", help="Device to run on.")
engine_option = click.option(
    "--engine", metavar="COMMAND", help="Run in the process that COMMAND starts: `warploom engine`, also by ssh."
)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Run the block files beside the patch; let the patch write and include files, and listen, anywhere.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
fuse_option = click.option(
    "--fuse/--no-fuse",
    default=True,
    help="Compile neighbouring blocks that compute element by element into one kernel.",
)


def frames_option(default: int) -> Callable[[_Command], _Command]:
    """Return the option `--frames`, with its default."""
    return click.option("--frames", type=click.IntRange(min=1), default=default, metavar="N", help="Number of frames.")


class FrameRange(click.ParamType[range | int]):
    """A number of frames from frame 0 on, or A-B: the frames A to B."""

    name = "frames"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range | int:
        """Return the frames; for anything else, end with a message."""
        found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", str(value))
        if found is None:
            return click.IntRange(min=1).convert(value, param, ctx)
        first, last = map(int, found.groups())
        if first > last:
            self.fail(f"frames must be A-B with A at most B, got {value!r}", param, ctx)
        return range(first, last + 1)


def check_device(name: str) -> None:
    """Raise click.BadParameter unless a device has this name."""
    from warploom.engine.device.open import check_device_name
    from warploom.engine.diagnostics import DeviceError

    try:
        check_device_name(name)
    except DeviceError as problem:
        raise click.BadParameter(str(problem)) from problem
