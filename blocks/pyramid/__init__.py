"""Pictures at several sizes, each half as large as the one before."""
