"""What data without truth say of a parameter set: quantities, a reference, changes and a verdict."""
