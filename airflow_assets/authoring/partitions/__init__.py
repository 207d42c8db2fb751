"""Which parts an asset has, how one is named, and which parts of an upstream belong to it."""
