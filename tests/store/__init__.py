"""The index on disk: what was stored is what is found."""
