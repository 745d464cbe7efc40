"""On a rank: note the numbers of a training: gradients, weights, samples, settings."""
