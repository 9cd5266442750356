"""The table of names that a kernel has no use for. To forbid or allow a name, change this file only.

A pattern matches the full dotted name of what is read or called; a trailing `.*` matches the module and all in it.
"""

from dataclasses import dataclass

from evaluator.static.finding import Severity


@dataclass(frozen=True)
class NameRule:
    """`what` completes the sentence "<name> …"."""

    rule: str
    patterns: tuple[str, ...]
    what: str
    remedy: str
    severity: Severity = "error"

    def matches(self, name: str) -> bool:
        return any(_matches(name, pattern) for pattern in self.patterns)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.endswith(".*") and (name + ".").startswith(pattern[:-1]))


NAME_RULES: tuple[NameRule, ...] = (
    NameRule(
        "process",
        (
            "subprocess.*",
            "multiprocessing.*",
            "torch.multiprocessing.*",
            "concurrent.futures.*",
            "pty.*",
            "signal.*",
            "atexit.*",
            "threading.Thread",
            "threading.Timer",
            "_thread.*",
            "os.system",
            "os.popen",
            "os.fork",
            "os.forkpty",
            "os.kill",
            "os.killpg",
            "os._exit",
            "os.abort",
            "os.posix_spawn",
            "os.posix_spawnp",
            *(f"os.exec{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
            *(f"os.spawn{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
        ),
        "starts or steers processes or threads",
        "Do the work in kernels launched from forward; the grader runs one process and one thread per submission.",
    ),
    NameRule(
        "network",
        (
            "socket.*",
            "ssl.*",
            "urllib.request.*",
            "http.client.*",
            "http.server.*",
            "ftplib.*",
            "smtplib.*",
            "xmlrpc.*",
            "requests.*",
            "httpx.*",
            "aiohttp.*",
            "asyncio.open_connection",
            "asyncio.start_server",
            "torch.distributed.*",
            "torch.hub.*",
        ),
        "reaches for the network",
        "There is no network; compute everything from the inputs of forward.",
    ),
    NameRule(
        "file",
        (
            "builtins.open",
            "io.open",
            "io.FileIO",
            "codecs.open",
            *(f"pathlib.Path.{name}" for name in ("open", "read_text", "read_bytes", "write_text", "write_bytes")),
            *(f"pathlib.Path.{name}" for name in ("unlink", "mkdir", "rmdir", "rename", "touch", "iterdir", "glob")),
            *(
                f"shutil.{name}"
                for name in ("copy", "copy2", "copyfile", "copytree", "move", "rmtree", "unpack_archive")
            ),
            "tempfile.*",
            "glob.*",
            "mmap.*",
            "pickle.*",
            "shelve.*",
            "sqlite3.*",
            "torch.save",
            "torch.load",
            "torch.from_file",
            "torch.utils.cpp_extension.load",
            "numpy.load",
            "numpy.save",
            "numpy.savez",
            "numpy.fromfile",
            "numpy.memmap",
            *(f"os.{name}" for name in ("open", "fdopen", "read", "write", "pipe", "dup", "dup2", "mkfifo", "symlink")),
            *(f"os.{name}" for name in ("remove", "unlink", "rename", "replace", "mkdir", "makedirs", "rmdir", "link")),
            *(f"os.{name}" for name in ("listdir", "scandir", "walk", "chmod", "chown", "chdir", "truncate")),
        ),
        "touches files",
        "Keep sources in strings and tensors in memory; the grader chooses every folder.",
    ),
    NameRule(
        "dynamic-code",
        (
            "builtins.exec",
            "builtins.eval",
            "builtins.compile",
            "code.*",
            "codeop.*",
            "runpy.*",
            "marshal.*",
            "types.CodeType",
            "types.FunctionType",
        ),
        "runs code that is built at run time",
        "Write the code out; use tl.constexpr parameters or C++ templates for variants.",
    ),
    NameRule(
        "dynamic-import",
        (
            "builtins.__import__",
            "builtins.__loader__",
            "builtins.__spec__",
            "importlib.__import__",
            "importlib.reload",
            "importlib.machinery.*",
            "importlib.util.spec_from_file_location",
            "importlib.util.spec_from_loader",
            "importlib.util.module_from_spec",
            "imp.*",
            "pkgutil.*",
            "zipimport.*",
            "sys.modules.*",
            "sys.path.*",
            "sys.meta_path.*",
            "sys.path_hooks.*",
        ),
        "loads or replaces modules by hand",
        "Use plain import statements.",
    ),
    NameRule(
        "introspection",
        (
            "sys._getframe",
            "sys._current_frames",
            "sys._current_exceptions",
            "sys.settrace",
            "sys.setprofile",
            "sys.addaudithook",
            "inspect.currentframe",
            "inspect.stack",
            "inspect.trace",
            "inspect.getouterframes",
            "inspect.getinnerframes",
            "traceback.walk_stack",
            "traceback.walk_tb",
            "gc.get_objects",
            "gc.get_referrers",
            "gc.get_referents",
            "gc.callbacks",
            "tracemalloc.*",
            "faulthandler.*",
        ),
        "looks into the interpreter around the kernel",
        "A kernel needs its inputs only; compute the result from them.",
    ),
    NameRule(
        "grader",
        (
            "evaluator.*",
            "torch.library.get_kernel",
            "torch._C._dispatch_get_computed_kernel_for_dispatch_key",
        ),
        "reaches into the grader or past what it watches",
        "Remove it; a kernel needs its inputs only.",
    ),
    NameRule(
        "ctypes",
        ("ctypes.*", "_ctypes.*", "cffi.*", "numpy.ctypeslib.*"),
        "calls native code behind Python's back",
        "For the language cuda use torch.utils.cpp_extension.load_inline; for triton pass tensors to the kernel.",
    ),
    NameRule(
        "torch-compile",
        (
            "torch.compile",
            "torch.jit.script",
            "torch.jit.trace",
            "torch.compiler.compile",
            "torch._dynamo.optimize",
            "torch._inductor.compile",
            "torch._inductor.compile_fx.*",
        ),
        "has the kernel written by PyTorch's compiler",
        "Write the kernel yourself and launch it from forward.",
    ),
)

# attributes that lead out of the submission on any object
FORBIDDEN_ATTRIBUTES = frozenset(
    {
        "f_back",
        "f_locals",
        "f_globals",
        "f_builtins",
        "tb_frame",
        "tb_next",
        "gi_frame",
        "cr_frame",
        "ag_frame",
        "__subclasses__",
        "__globals__",
        "__builtins__",
    }
)

# what may not be replaced; the settings under it may be set (the grader sets them again before every call)
PATCH_ROOTS = (
    "evaluator",
    "torch",
    "triton",
    "numpy",
    "builtins",
    "time",
    "sys",
    "os",
    "math",
    "functools",
    "inspect",
    "gc",
)
PATCH_SETTINGS = ("torch.backends", "torch._dynamo.config", "torch._inductor.config", "triton.knobs")

# modules without use in a kernel; importing them is let through with a warning
USELESS_MODULES = frozenset(
    {
        "os", "sys", "time", "datetime", "timeit", "random", "json", "re", "logging", "argparse", "gc", "inspect",
        "threading", "subprocess", "multiprocessing", "socket", "shutil", "tempfile", "pathlib", "pickle", "ctypes",
        "importlib", "signal", "atexit", "glob", "urllib", "http", "asyncio", "concurrent",
    }
)  # fmt: skip
