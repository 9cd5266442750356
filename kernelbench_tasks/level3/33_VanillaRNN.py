import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of a plain recurrent network, from a hidden state that starts at zero."""

    def __init__(self, in_features: int, hidden: int, out_features: int):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(in_features + hidden, hidden)
        self.h2o = nn.Linear(hidden, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(x.shape[0], self.hidden, device=x.device, dtype=x.dtype)
        state = torch.tanh(self.i2h(torch.cat((x, state), dim=1)))
        return self.h2o(state)


batch_size = 256
in_features = 8192
hidden = 8192
out_features = 4096


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, hidden, out_features]


CPU_SIZES = {"batch_size": 10, "in_features": 50, "hidden": 40, "out_features": 30}
