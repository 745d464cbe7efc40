"""On a rank: record the numerics of a training: its gradients, weights, samples and settings."""
