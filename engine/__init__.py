"""Warploom's engine: patches, the compiler that turns them into one CUDA graph, and the devices that run it."""

if __name__ == "engine":  # in a checkout, by its old name
    from warploom.alias import alias

    alias(__name__)
