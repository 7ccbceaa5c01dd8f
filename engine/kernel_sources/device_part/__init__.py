"""The device's part of a CUDA program: its kernels without what only a host compiles."""
