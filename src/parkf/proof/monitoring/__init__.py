"""What data without truth say of a parameter set: quantities of hits, a reference, changes and their verdict."""
