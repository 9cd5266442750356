"""Seeds torch's generators; on a path that is taken several times for every timed call."""

import torch


def seed_torch(seed: int) -> None:
    """As `torch.manual_seed`, for the CPU and, once it is in use, CUDA.

    Torch's own notes a stack trace for each kind of device that is not in use, which takes up to a millisecond.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
