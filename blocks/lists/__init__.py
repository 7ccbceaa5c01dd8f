"""Lists: sorted, picked, counted and added up by keys."""
