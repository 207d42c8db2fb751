"""Benchmarks against the peers: `python -m benchmarks.<name>`, figures in `benchmarks/RESULTS.md`."""
