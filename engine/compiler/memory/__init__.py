"""Phase 6: the buffers that share memory, their places, and the recomputation of overwritten ones."""
