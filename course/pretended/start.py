"""Begin to pretend, or say that this torch is not known."""

import torch

from course.core import UnknownTorch


def pretend_gpus(count: int) -> None:
    """Be a process that sees `count` GPUs; raises `UnknownTorch` where torch is not as expected."""
    try:
        from course.pretended import install  # imports names that another torch may not have
    except ImportError as error:
        raise UnknownTorch(
            f"torch {torch.__version__} lacks what pretended GPUs are made of: {error}."
        ) from error
    install.install(count)
