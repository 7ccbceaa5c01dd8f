"""The pieces of work, by topic."""
