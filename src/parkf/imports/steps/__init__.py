"""Step datasets from foreign tuples: tuning trees of the parameterised fit, or any columns with a map."""
