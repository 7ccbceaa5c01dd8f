"""Differential tests: the same PTX on the host device and on a CUDA device, from the same inputs."""
