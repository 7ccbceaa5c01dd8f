"""Random patches over every block type, edited while they run, in engines that must agree.

`python -m tests.random_patches --patches 1000 --seed 0` runs many and prints which block types took part.
"""
