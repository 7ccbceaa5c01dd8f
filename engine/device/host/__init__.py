"""The host device: the same PTX, compiled for the CPU. Compilers import `modules` without the device and numpy."""
