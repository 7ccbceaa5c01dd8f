"""One number from many."""
