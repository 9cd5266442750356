import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layers with rectifiers in between."""

    def __init__(self, in_features: int, hidden: list, out_features: int):
        super().__init__()
        sizes = [in_features, *hidden]
        layers = []
        for size, following in zip(sizes, hidden, strict=False):
            layers += [nn.Linear(size, following), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Linear(sizes[-1], out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x)


batch_size = 256
in_features = 8192
hidden = [8192, 8192]
out_features = 4096


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, hidden, out_features]


CPU_SIZES = {"batch_size": 10, "in_features": 70, "hidden": [50, 40], "out_features": 30}
