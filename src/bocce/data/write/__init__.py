"""Writing: rows of any source, shuffled once on disk, as a block file."""
