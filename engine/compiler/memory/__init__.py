"""Phase 6: which buffers share memory, where each lies, and how to have an overwritten one again."""
