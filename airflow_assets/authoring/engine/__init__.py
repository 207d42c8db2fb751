"""One step of a run: load what it reads, call its body, check and store what it gave, say what happened."""
