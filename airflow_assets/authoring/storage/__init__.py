"""Where runs of assets are recorded, and what can be asked about them: ``repo.storage``."""
