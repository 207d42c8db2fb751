"""Worker processes of the benchmarks, one script a side; each runs in the environment of its side."""
