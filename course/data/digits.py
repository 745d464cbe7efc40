"""Handwritten digits, 8 × 8 pixels: the embedded image data.

They come from scikit-learn, which has them from UCI's Optical Recognition set.
"""

import torch
from torch.utils.data import TensorDataset

TRAIN = 1500  # of 1797 images


def load() -> tuple[TensorDataset, TensorDataset]:
    """The training and the validation split.

    Images are float32 (N, 1, 8, 8) in [0, 1], labels int64 (N,). The split is fixed, and shuffled
    because the images come sorted by writer.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(data.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    labels = torch.tensor(data.target)[order]
    training = TensorDataset(images[:TRAIN], labels[:TRAIN])
    validation = TensorDataset(images[TRAIN:], labels[TRAIN:])
    return training, validation
