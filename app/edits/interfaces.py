"""The compilation that must precede an edit before its nodes' ports are known; any thread can do it in advance."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

from warploom.app.edits.files.dropped_files import kernel_blocks
from warploom.engine.kernel_blocks.kernel_block import KernelBlock
from warploom.engine.patch.document import Patch


def setting_work(patch: Patch, node_ids: Collection[str], name: str, value: object) -> Callable[[], None] | None:
    """Return the work that setting a parameter would wait for; None if it waits for none.

    The result is cached, so that the edit after it is fast.
    """
    nodes = [patch.nodes[node] for node in node_ids]
    slow = [node for node in nodes if _is_kernel(patch, node.type) and patch.decides_interface(node.id, name)]
    if not slow:
        return None
    resolve, folder = patch.catalogue.resolve, patch.folder
    jobs = [
        partial(resolve, node.type, {**node.parameters, name: value}, lambda: folder, trusted=patch.trusted)
        for node in slow
    ]
    return partial(_do_all, jobs)


def drop_work(patch: Patch, paths: Iterable[Path]) -> Callable[[], None]:
    """Return the work that dropping files would wait for."""
    files, folder = list(paths), patch.folder

    def compile_all() -> None:
        for path in files:
            for type_id, values in kernel_blocks(path):
                patch.catalogue.resolve(type_id, {"file": str(path), **values}, lambda: folder, trusted=patch.trusted)

    return compile_all


def _do_all(jobs: Iterable[Callable[[], object]]) -> None:
    for job in jobs:
        job()


def _is_kernel(patch: Patch, type_id: str) -> bool:
    block_type = patch.catalogue.get(type_id)
    return block_type is not None and issubclass(block_type, KernelBlock)
