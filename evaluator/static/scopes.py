"""Which binding a name refers to: a small model of Python's scopes, enough to see through imports and aliases."""

import ast
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Imported:
    """The name stands for an imported module or one of its members, by its full dotted name."""

    target: str


@dataclass(frozen=True)
class Aliased:
    """The name was assigned the value of an expression."""

    value: ast.expr


Binding = Imported | Aliased | None  # None: bound to something that cannot be told from the text


@dataclass(eq=False)
class Scope:
    """The names bound in one module, class, function or comprehension."""

    parent: "Scope | None" = None
    is_class: bool = False
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding) -> None:
        scope = self.root if name in self.globals else self
        scope.bindings.setdefault(name, []).append(binding)

    @property
    def root(self) -> "Scope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def owner(self, name: str) -> "Scope | None":
        """The innermost scope that binds the name; None where nothing does. A class is seen from its own body only."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope
            scope = scope.parent
        return None


def build_scopes(tree: ast.Module) -> dict[ast.AST, Scope]:
    """The scope in which each node of the tree is evaluated. Has a stack of its own: nesting cannot exhaust it."""
    scope_of: dict[ast.AST, Scope] = {}
    stack: list[tuple[ast.AST, Scope]] = [(tree, Scope())]
    while stack:
        node, scope = stack.pop()
        scope_of[node] = scope
        _bind(node, scope)
        stack.extend(_children(node, scope))
    return scope_of


def _children(node: ast.AST, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return _function_children(node, scope)
    if isinstance(node, ast.ClassDef):
        inner = Scope(scope, is_class=True)
        outside: list[ast.AST] = [*node.decorator_list, *getattr(node, "type_params", ()), *node.bases, *node.keywords]
        return [(child, scope) for child in outside] + [(child, inner) for child in node.body]
    if isinstance(node, _COMPREHENSIONS):
        inner = Scope(scope)
        return [(child, inner) for child in ast.iter_child_nodes(node)]
    return [(child, scope) for child in ast.iter_child_nodes(node)]


def _function_children(node: Function, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    inner = Scope(scope)
    arguments = node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            inner.bind(argument.arg, None)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:  # `global` holds for the whole function, also before the statement
        if isinstance(statement, ast.Global):
            inner.globals.update(statement.names)
    outside: list[ast.AST] = [arguments]
    if not isinstance(node, ast.Lambda):
        outside += [*node.decorator_list, *getattr(node, "type_params", ())]
        outside += [node.returns] if node.returns is not None else []
    return [(child, scope) for child in outside] + [(child, inner) for child in body]


def _bind(node: ast.AST, scope: Scope) -> None:
    match node:
        case ast.Import(names=names):
            for alias in names:
                module_name = alias.name if alias.asname else alias.name.partition(".")[0]
                scope.bind(alias.asname or module_name, Imported(module_name))
        case ast.ImportFrom(module=module, names=names, level=0):
            for alias in names:
                scope.bind(alias.asname or alias.name, Imported(f"{module}.{alias.name}"))
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    scope.bind(target.id, Aliased(value))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as annotated):
            scope.bind(name, Aliased(annotated))
        case ast.NamedExpr(target=ast.Name(id=name), value=assigned):
            scope.bind(name, Aliased(assigned))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope.bind(name, None)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            scope.bind(name, None)
        case ast.Name(id=name, ctx=ast.Store()):
            scope.bindings.setdefault(name, [])  # unpacking, loops, with: bound, to nothing that can be told
        case ast.Global(names=names):
            scope.globals.update(names)
        case _:
            pass
