"""Runs the command line in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

EXAMPLES = Path(__file__).parents[3] / "resources" / "examples"


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Warploom = Callable[..., Outcome]


def edited(path: Path, **fields: Any) -> Path:
    """Return the patch file's content with some top-level fields replaced."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | fields))
    return path
