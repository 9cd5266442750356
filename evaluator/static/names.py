"""What an expression stands for, as a full dotted name: `F.relu` is `torch.nn.functional.relu` however imported."""

import ast
import builtins

from evaluator.static.scopes import Aliased, Binding, Imported, Scope, build_scopes

_BUILTINS = frozenset(dir(builtins))
_ALIAS_DEPTH_MAX = 16
_INSTANCES = ("pathlib.Path",)  # classes whose instances are followed by the name of the class
_IMPORTERS = ("builtins.__import__", "importlib.import_module", "importlib.__import__")


class Names:
    """Resolves expressions of one module. Answers are guesses for feedback, never a defence."""

    def __init__(self, tree: ast.Module) -> None:
        self._scope_of = build_scopes(tree)
        self._resolved: dict[tuple[Scope, str], str | None] = {}  # without it, aliases of aliases cost exponential time

    def scope(self, node: ast.AST) -> Scope:
        return self._scope_of[node]

    def resolve(self, node: ast.expr, depth: int = 0) -> str | None:
        """The dotted name of an expression, None where it is not an import, a member of one or a builtin."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        base = self._base(node, depth)
        return None if base is None else ".".join([base, *reversed(attributes)])

    def called(self, node: ast.AST) -> str | None:
        """The dotted name of what a call calls; None for other nodes."""
        return self.resolve(node.func) if isinstance(node, ast.Call) else None

    def _base(self, node: ast.expr, depth: int) -> str | None:
        if depth > _ALIAS_DEPTH_MAX:
            return None
        if isinstance(node, ast.Name):
            return self._name(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._dictionary_item(node, depth)
        return None

    def _name(self, node: ast.Name, depth: int) -> str | None:
        scope = self._scope_of[node].owner(node.id)
        if scope is None:
            return f"builtins.{node.id}" if node.id in _BUILTINS else None
        key = (scope, node.id)
        if key not in self._resolved:
            self._resolved[key] = None  # what an alias of itself resolves to
            self._resolved[key] = self._bound(scope.bindings[node.id], depth)
        return self._resolved[key]

    def _bound(self, bindings: list[Binding], depth: int) -> str | None:
        for binding in bindings:
            if isinstance(binding, Imported):
                return binding.target
            if isinstance(binding, Aliased) and (target := self.resolve(binding.value, depth + 1)):
                return target
        return None

    def _call(self, node: ast.Call, depth: int) -> str | None:
        """`getattr(torch, "compile")`, `__import__("os")`, `import_module("os")` with literals; `Path(…)`."""
        function = self.resolve(node.func, depth + 1)
        if function == "builtins.getattr" and len(node.args) >= 2 and (name := literal_text(node.args[1])):
            owner = self.resolve(node.args[0], depth + 1)
            return None if owner is None else f"{owner}.{name}"
        if function in _IMPORTERS and node.args:
            return literal_text(node.args[0])
        return function if function in _INSTANCES else None

    def _dictionary_item(self, node: ast.Subscript, depth: int) -> str | None:
        """`torch.__dict__["compile"]` and `vars(torch)["compile"]`."""
        name = literal_text(node.slice)
        if name is None:
            return None
        if isinstance(node.value, ast.Call) and self.resolve(node.value.func, depth + 1) == "builtins.vars":
            owner = self.resolve(node.value.args[0], depth + 1) if node.value.args else None
        else:
            mapping = self.resolve(node.value, depth + 1) or ""
            owner = mapping.removesuffix(".__dict__") if mapping.endswith(".__dict__") else None
        return None if owner is None else f"{owner}.{name}"


def literal_text(node: ast.expr) -> str | None:
    """The value of a string literal, None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
