"""How far random tests go: `make test` tries the same few examples each time, `make fuzz` many new ones.

WARPLOOM_FUZZ multiplies how many, WARPLOOM_SEED says where the seeds begin. pytest prints both at the start of a run.
"""

import os

FACTOR = int(os.environ.get("WARPLOOM_FUZZ", "1"))
FIRST_SEED = int(os.environ.get("WARPLOOM_SEED", "0"))


def many(count: int) -> int:
    """Return how many examples, edits or seconds to use where an ordinary run uses `count`."""
    return count * FACTOR


def seeds(count: int) -> range:
    """Return the seeds of a test that has `count` of them in an ordinary run."""
    return range(FIRST_SEED, FIRST_SEED + many(count))
