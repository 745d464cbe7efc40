"""The embedded images."""

import torch

from course.data import digits


def test_digits_are_images_in_the_unit_range_split_once():
    (images, labels), (more_images, more_labels) = (split.tensors for split in digits.load())
    assert images.shape == (1500, 1, 8, 8)
    assert images.dtype == torch.float32
    assert (images.min(), images.max()) == (0, 1)
    assert labels.dtype == torch.int64
    assert len(more_images) == len(more_labels) == 297
    assert set(labels.tolist()) == set(more_labels.tolist()) == set(range(10))
    assert torch.equal(images, digits.load()[0].tensors[0])
