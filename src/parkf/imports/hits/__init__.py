"""Hits of others: LHCb's `Hits_detectors` trees, and CSV of digitised simulation."""
