"""Python's garbage collection, deferred while many objects are created that stay (`design/garbage_collection.md`)."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects are made old from this number on (a young collection of fewer takes half a millisecond); after so many in
#: all, everything is collected.
_LEAST_AGED, _MOST_AGED = 2_000, 1_000_000
_aged = 0
#: Whether other code has frozen objects, which `unfreeze` would affect too. To look for them again takes long.
_is_frozen = False


@contextmanager
def without_collections() -> Iterator[None]:
    """Collect no garbage while the objects of a large patch, a graph or modules are created, since most of them stay.

    Then they are moved to the oldest generation, so that the next young collection does not look at them. Python does
    not count objects that are moved, so everything is collected here after many of them.
    """
    global _aged, _is_frozen
    if not gc.isenabled():  # other code controls the collection
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        made = gc.get_count()[0]
        if made >= _LEAST_AGED and not _is_frozen and not (_is_frozen := gc.get_freeze_count() > 0):
            gc.freeze()
            gc.unfreeze()
            _aged += made
        gc.enable()
        if _aged > _MOST_AGED:
            _aged = 0
            gc.collect()
