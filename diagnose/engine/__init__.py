"""Rules: their schema, loading with positions and overlays, matching, and the verdict."""
