"""From a list of assets to the steps that make them, and the order of these."""
