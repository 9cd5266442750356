"""Which tasks are of one kind (family) and which so alike that one teaches the other (twins), told by their names."""

import re
from collections.abc import Sequence

_Table = Sequence[tuple[str, str, str]]

# (pattern on the lower-case name, family, twins); the first match wins
_LEVEL1: _Table = (
    (r"matmul.*(diagonal|symmetric|triangular)", "matmul", "structured"),
    (r"matrix_(vector|scalar)", "matmul", "vector"),
    (r"(batched_matrix|[34]d_tensor_matrix)", "matmul", "batched"),
    (r"(matmul|matrix_multiplication)", "matmul", "dense"),
    (r"conv_depthwise", "convolution", "depthwise"),
    (r"conv_pointwise", "convolution", "pointwise"),
    (r"conv_transposed_1d", "convolution", "transposed-1d"),
    (r"conv_transposed_2d", "convolution", "transposed-2d"),
    (r"conv_transposed_3d", "convolution", "transposed-3d"),
    (r"conv_standard_1d", "convolution", "standard-1d"),
    (r"conv_standard_2d", "convolution", "standard-2d"),
    (r"conv_standard_3d", "convolution", "standard-3d"),
    (r"softmax", "softmax", "softmax"),
    (r"gelu", "activation", "gelu"),
    (r"(relu|hardtanh|hardsigmoid)", "activation", "piecewise"),
    (r"(elu|softplus)", "activation", "exponential"),
    (r"(sigmoid|tanh|swish|softsign)", "activation", "saturating"),
    (r"(batch|instance)norm", "norm", "channel"),
    (r"(group|layer)norm", "norm", "layer"),
    (r"norm", "norm", "vector"),
    (r"max_pooling", "pooling", "max"),
    (r"average_pooling", "pooling", "average"),
    (r"arg(max|min)", "reduction", "arg"),
    (r"(max|min)_reduction", "reduction", "extremum"),
    (r"reduction", "reduction", "sum"),
    (r"cumprod", "scan", "product"),
    (r"cumsum", "scan", "sum"),
    (r"(crossentropy|kldiv)", "loss", "divergence"),
    (r"triplet", "loss", "triplet"),
    (r"loss", "loss", "elementwise"),
    (r"attention", "attention", "attention"),
)

_LEVEL3: _Table = (
    (r"(mlp$|mlp_)", "mlp", "mlp"),
    (r"^(resnet|regnet)", "cnn", "residual"),
    (r"^(vgg|alexnet|lenet)", "cnn", "plain"),
    (r"googlenet", "cnn", "inception"),
    (r"densenet", "cnn", "dense"),
    (r"squeezenet", "cnn", "squeeze"),
    (r"(mobilenet|efficientnet|shufflenet)", "cnn", "mobile"),
    (r"unet", "cnn", "unet"),
    (r"swin", "transformer", "swin"),
    (r"vision", "transformer", "vision"),
    (r"(gpt|selfattention)", "transformer", "decoder"),
    (r"netvlad", "pooling", "vlad"),
    (r"mamba", "state-space", "mamba"),
    (r"gru", "recurrent", "gru"),
    (r"lstm", "recurrent", "lstm"),
    (r"rnn", "recurrent", "rnn"),
)

# operators of level 2 that differ in name only, or by a constant
_SAME_OPERATOR = {
    "matmul": "gemm",
    "bmm": "gemm",
    "scaling": "scale",
    "multiply": "scale",
    "divide": "scale",
    "residualadd": "add",
    "biasadd": "add",
    "subtract": "add",
    "globalavgpool": "avgpool",
    "hardswish": "swish",
    "leakyrelu": "relu",
}


def family_of(level: int, name: str) -> tuple[str, str]:
    """(family, twins) of a task, `name` being its file's stem without the number; both are globally unique strings."""
    lower = name.lower()
    if level == 2:
        return _fusion(lower)
    table = {1: _LEVEL1, 3: _LEVEL3}.get(level, ())
    for pattern, family, twins in table:
        if re.search(pattern, lower):
            return f"level{level}/{family}", f"level{level}/{family}/{twins}"
    model = re.sub(r"_bs\d+.*", "", lower)  # level 4 repeats one model at several batch sizes
    return f"level{level}/other", f"level{level}/other/{model}"


def _fusion(name: str) -> tuple[str, str]:
    head, *tail = (_SAME_OPERATOR.get(operator, operator) for operator in name.split("_") if operator)
    return f"level2/{head}", f"level2/{head}/{'+'.join(sorted(set(tail)))}"
