"""What travels between processes: assets, events, lineage, queries, and the rules they obey."""
