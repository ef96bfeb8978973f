"""Registries that somebody forged or cut must be refused by both readers, and honest ones by none."""
