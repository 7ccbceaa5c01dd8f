"""Block types: the classes of blocks, and how they declare ports and parameters."""
