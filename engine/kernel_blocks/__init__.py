"""Blocks whose ports and parameters are those of a kernel: start at `kernel_block.KernelBlock`."""
