"""The ghost score: small networks on what the fit knows of a track, trained on the training sample."""
