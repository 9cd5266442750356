# task: level1/19_ReLU
# style: every word a careless checker might dislike, in comments, strings and names only
# subprocess, os.system("ls"), exec(eval(compile(open(path).read()))), socket, torch.compile(Model()), import ctypes
"""This docstring says: try: pass; except: pass; torch.relu(x); sys._getframe(); gc.get_objects(); import importlib."""

import torch
import triton
import triton.language as tl

NOTES = {"exec": "not torch.compile", "fallback": "F.relu", "url": "http://example.org // not a comment"}
open_rows, exec_width, process_count = 1, 2, 3


@triton.jit
def evaluate(x_ptr, y_ptr, n, compile_width: tl.constexpr):
    """No eval(), no exec(): only a maximum."""
    pass_ = tl.program_id(0)
    i = pass_ * compile_width + tl.arange(0, compile_width)  # // looks like C
    live = i < n
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=live), 0.0), mask=live)


class ModelNew(torch.nn.Module):
    def eval_forward(self, x):
        y = torch.empty_like(x)
        evaluate[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), compile_width=2048)
        return y

    def forward(self, x):
        # fallback to Model? never
        return self.eval_forward(x)
