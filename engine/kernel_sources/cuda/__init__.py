"""CUDA C++ compiled by NVRTC: start at `compiling.compile_source`."""
