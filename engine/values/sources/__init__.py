"""Values from outside: the threads that receive them, and the names of their numbers."""
