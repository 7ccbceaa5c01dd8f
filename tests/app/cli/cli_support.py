"""Running the command line in this process."""

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
    """Give the patch file's top level other fields."""
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | fields))
    return path
