"""The element types of a kernel's pointers and structs: start at `declared.declared_types`."""
