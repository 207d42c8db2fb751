"""How values are stored and loaded."""
