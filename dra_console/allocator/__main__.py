"""`python -m dra_console.allocator`: explain, allocate, batch."""
