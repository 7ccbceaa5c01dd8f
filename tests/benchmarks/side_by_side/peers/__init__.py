"""Programs in other languages, whose compilers read their source, and another editor."""
