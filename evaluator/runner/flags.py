"""Backend flags, set alike for reference and candidate before every call."""

import torch


def set_precision(precision: str) -> None:
    """`tf32` or `ieee` for every fp32 matrix product and convolution; nothing else is left as the candidate set it.

    Only the `fp32_precision` switches are used: torch raises where they are mixed with the older flags.
    """
    torch.backends.fp32_precision = precision  # type: ignore[attr-defined]
    torch.backends.cuda.matmul.fp32_precision = precision
    torch.backends.cudnn.fp32_precision = precision
    torch.backends.cudnn.conv.fp32_precision = precision  # type: ignore[attr-defined]
    torch.backends.cudnn.rnn.fp32_precision = precision  # type: ignore[attr-defined]
    torch.set_default_dtype(torch.float32)
    # Setting it imports torch's compiler (1.3 s), so only where somebody changed it.
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)
