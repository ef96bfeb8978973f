"""Jobs of a run: their files, plan and progress, the store of shared products, and killed runs."""
