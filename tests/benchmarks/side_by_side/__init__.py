"""The same work in Warploom and in what a person would use instead: `python -m tests.benchmarks.side_by_side`."""
