"""Step datasets from others' tuples: the tuning trees of the parameterised fit, or any columns by a map."""
