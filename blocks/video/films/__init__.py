"""Reading and writing films, with their sound."""
