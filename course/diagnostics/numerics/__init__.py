"""On a rank: the numerics of a training, as plain data: gradients, weights, samples, settings."""
