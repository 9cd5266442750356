"""What the tiny policy can write: activation kernels in fragments, of which it has to choose the right ones.

The fragments make a right kernel for each task of the curriculum, wrong ones, one that returns what PyTorch computed
instead of what the kernel did, and much that is no program at all. Nothing here says which is right: the grader does.
"""

from __future__ import annotations

import random

HEAD = """```python
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
"""
LOAD = "    x = tl.load(x_ptr + at, mask=at < n)\n"
FUNCTIONS = (
    "    y = tl.maximum(x, 0.0)\n",
    "    y = tl.sigmoid(x)\n",
    "    y = 2.0 * tl.sigmoid(2.0 * x) - 1.0\n",
    "    y = x / (1.0 + tl.abs(x))\n",
    "    y = tl.minimum(tl.maximum(x, -1.0), 1.0)\n",
    "    y = x\n",
)
STORE = "    tl.store(y_ptr + at, y, mask=at < n)\n\n\n"
LAUNCH = """class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
"""
RETURNS = ("        return y\n", "        return torch.clamp(x, min=0.0)\n")
CLOSE = "```\n"
TASK_IDS = ("level1/19_ReLU", "level1/21_Sigmoid", "level1/22_Tanh", "level1/30_Softsign", "level1/32_HardTanh")
# what the policy sees of prompts: the operator of a reference, and how a verdict is told
SEEN = (
    "torch.relu(x)",
    "torch.sigmoid(x)",
    "torch.tanh(x)",
    "F.softsign(x)",
    "F.hardtanh(x",
    "was refused",
    "computes a wrong result",
    "failed while it ran",
    "is correct",
)
FRAGMENTS = (HEAD, LOAD, *FUNCTIONS, STORE, LAUNCH, *RETURNS, CLOSE, *SEEN)
FLAWED_FRAC = 0.15
BYPASS_FRAC = 0.2


def random_answer(drawn: random.Random) -> list[str]:
    """An answer for any task: well-formed for the most part, and right only by chance."""
    function = drawn.choice(FUNCTIONS)
    returned = RETURNS[drawn.random() < BYPASS_FRAC]
    fragments = [HEAD, LOAD, function, STORE, LAUNCH, returned, CLOSE]
    if drawn.random() < FLAWED_FRAC:
        del fragments[drawn.randrange(len(fragments))]
    return fragments
