"""Names of new nodes and frames."""

import re
from collections.abc import Collection


def free_id(stem: str, taken: Collection[str]) -> str:
    """Return an unused id: the stem itself, or the stem with the next number."""
    if stem not in taken:
        return stem
    pattern = re.compile(rf"{re.escape(stem)}_(\d+)$")
    used = [int(match[1]) for name in taken if (match := pattern.match(name))]
    return f"{stem}_{max(used, default=1) + 1}"
