"""How modules import each other, beyond the contracts in pyproject.toml."""

from graphlib import TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    """No chain of imports leads back to its start, counting imports in functions and for type checking."""
    graph = grimp.build_graph("warploom", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(list(TopologicalSorter(imports).static_order())) > 400  # CycleError names the modules of a cycle
