"""Assets written in Python: definitions, their graph, and the engine that runs their steps."""
