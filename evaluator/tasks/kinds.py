"""What sort of task a source is, told from its text: operators, dtypes, parameters, randomness."""

import ast
from dataclasses import asdict, dataclass
from typing import Any

DEFAULT_DTYPE = "float32"
_DTYPES = {
    "float64": "float64",
    "double": "float64",
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int64": "int64",
    "long": "int64",
    "int32": "int32",
    "int": "int32",
    "uint8": "uint8",
    "int8": "int8",
    "bool": "bool",
}
_WITH_PARAMETERS = ("conv", "linear", "norm", "embedding", "lstm", "gru", "rnn", "multihead", "bilinear", "prelu")
_WITHOUT_PARAMETERS = ("instancenorm1d", "instancenorm2d", "instancenorm3d")  # unless they are asked for
_RANDOM = ("dropout", "rand", "bernoulli", "multinomial", "normal", "poisson", "rrelu", "gumbel")
# nothing of these computes a result
_NO_OPERATORS = {
    "module", "parameter", "tensor", "modulelist", "moduledict", "sequential", "no_grad", "init", "functional", "nn",
    "device", "dtype", "size", "identity", "randn", "rand", "randint", "ones", "zeros", "full", "empty", "arange",
    "linspace", "tril", "triu", *_DTYPES, "float", "float32",
}  # fmt: skip
_METHODS = {
    "sum", "mean", "max", "min", "norm", "matmul", "mm", "bmm", "softmax", "cumsum", "cumprod", "exp", "log", "sqrt",
    "tanh", "sigmoid", "relu", "clamp", "var", "std", "prod", "argmax", "argmin", "masked_fill", "pow", "abs", "flip",
}  # fmt: skip
_SIGNS: dict[type[ast.operator], str] = {
    ast.MatMult: "matmul", ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """`operators` are torch's names in lower case; `random` says that `forward` draws random numbers."""

    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = (DEFAULT_DTYPE,)
    parameters: bool = False
    random: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"operators": list(self.operators), "dtypes": list(self.dtypes)}


def kind_of(tree: ast.Module) -> Kind:
    """Recognise one task; what its text does not say in plain words stays unknown."""
    names = _Names(tree)
    computing = [node for node in tree.body if not _makes_inputs(node)]
    called = {name for node in computing for name in names.operators(node)}
    in_calls = {name.lower() for node in computing for name in names.operators(node, skip=("__init__",))}
    operators = {name.lower() for name in called} - _NO_OPERATORS
    parameters = "parameter" in names.torch_names(tree) or any(_has_parameters(name) for name in called)
    dtypes = {_DTYPES[name] for name in names.torch_names(tree) if name in _DTYPES} | names.method_dtypes(tree)
    random = any(name.startswith(_RANDOM) for name in in_calls) or any("dropout" in name for name in operators)
    return Kind(tuple(sorted(operators)), tuple(sorted(dtypes | {DEFAULT_DTYPE})), parameters, random)


def _makes_inputs(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs")


def _has_parameters(name: str) -> bool:
    """Of modules, whose names begin with a capital; functions get theirs from elsewhere."""
    lower = name.lower()
    return name[:1].isupper() and any(part in lower for part in _WITH_PARAMETERS) and lower not in _WITHOUT_PARAMETERS


class _Names:
    """Resolves the names under which a module knows torch and its parts."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules: set[str] = set()
        self._others: set[str] = set()
        self._direct: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    known = self._modules if alias.name.partition(".")[0] == "torch" else self._others
                    known.add((alias.asname or alias.name).partition(".")[0])
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
                for alias in node.names:
                    if alias.name in ("nn", "functional"):
                        self._modules.add(alias.asname or alias.name)
                    else:
                        self._direct[alias.asname or alias.name] = alias.name

    def torch_names(self, root: ast.AST) -> set[str]:
        """Last parts of all names of torch below a node, in lower case."""
        found = set()
        for node in ast.walk(root):
            if isinstance(node, ast.Attribute) and _root(node) in self._modules:
                found.add(node.attr.lower())
            elif isinstance(node, ast.Name) and node.id in self._direct:
                found.add(self._direct[node.id].lower())
        return found

    def operators(self, root: ast.AST, skip: tuple[str, ...] = ()) -> set[str]:
        """Operators below a node by their names, leaving out functions named in `skip`."""
        found: set[str] = set()
        for node in _walk(root, skip):
            if isinstance(node, ast.Call):
                found |= self._called(node.func)
        for node in _walk(root, (*skip, "__init__")):
            if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _SIGNS:
                found |= self._signed(node)
        return found

    def method_dtypes(self, root: ast.AST) -> set[str]:
        """From `x.half()` and its like."""
        calls = [node.func for node in ast.walk(root) if isinstance(node, ast.Call) and not node.args]
        names = {func.attr for func in calls if isinstance(func, ast.Attribute) and _root(func) not in self._modules}
        return {_DTYPES[name] for name in names & {"half", "bfloat16", "double", "long", "bool"}}

    def _called(self, func: ast.expr) -> set[str]:
        if isinstance(func, ast.Name):
            return {self._direct[func.id]} if func.id in self._direct else set()
        if not isinstance(func, ast.Attribute):
            return set()
        if _root(func) in self._modules:
            return set() if ".init." in f".{ast.unparse(func)}" else {func.attr}
        return {func.attr} if func.attr in _METHODS and _root(func) not in self._others else set()

    def _signed(self, node: ast.BinOp | ast.AugAssign) -> set[str]:
        """Arithmetic counts where a name stands on a side of the sign."""
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
        return (
            {_SIGNS[type(node.op)]}
            if any(isinstance(side, ast.Name | ast.Attribute | ast.Call) for side in sides)
            else set()
        )


def _walk(root: ast.AST, skip: tuple[str, ...]) -> list[ast.AST]:
    """All nodes below, without functions named in `skip`."""
    found, open_nodes = [], [root]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.FunctionDef) and node.name in skip:
            continue
        found.append(node)
        open_nodes.extend(ast.iter_child_nodes(node))
    return found


def _root(node: ast.Attribute) -> str:
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return inner.id if isinstance(inner, ast.Name) else ""
