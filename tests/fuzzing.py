"""How far random tests go: `make test` tries the same few examples each time, `make fuzz` many new ones.

WARPLOOM_FUZZ multiplies the number of examples, and WARPLOOM_SEED is the first seed. pytest prints both at the start of
a run.
"""

import os

FACTOR = int(os.environ.get("WARPLOOM_FUZZ", "1"))
FIRST_SEED = int(os.environ.get("WARPLOOM_SEED", "0"))


def many(count: int) -> int:
    """Return how many examples, edits or seconds this run uses where an ordinary run uses `count`."""
    return count * FACTOR


def seeds(count: int) -> range:
    """Return this run's seeds for a test that has `count` seeds in an ordinary run."""
    return range(FIRST_SEED, FIRST_SEED + many(count))
