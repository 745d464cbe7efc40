"""On a rank: the numbers of a training, as plain data: gradients, weights, samples, settings."""
