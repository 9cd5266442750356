"""What is recorded of a `load_inline` call: torch's semantics, allowed flags, and what a module's text gives away."""

from pathlib import Path

import pytest

from evaluator.build.calls import CallError, ExtensionCall, from_load_inline
from evaluator.build.flags import FlagError, cuda_flags, host_flags, link_flags
from evaluator.build.plan import architectures
from evaluator.build.reading import Reading, read_calls

CPP = "int f() { return 1; }"
CUDA = "__global__ void k() {}"
ARGUMENTS = (
    {"name": "a", "cpp_sources": CPP, "functions": ["f"]},
    {"name": "a", "cpp_sources": [CPP, "int g();"], "functions": {"f": "one", "g": "two"}},
    {"name": "a", "cpp_sources": CPP, "cuda_sources": CUDA, "functions": "f"},
    {"name": "a", "cpp_sources": [CPP], "cuda_sources": [CUDA, CUDA], "functions": ["f"], "with_cuda": True},
    {"name": "a", "cpp_sources": "", "cuda_sources": [CUDA], "functions": None},
    {"name": "a", "cpp_sources": CPP, "functions": ["f"], "with_pytorch_error_handling": False},
    {"name": "a", "cpp_sources": CPP, "cuda_sources": CUDA, "functions": ["f"], "no_implicit_headers": True},
)


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_files_are_those_that_torch_writes(arguments, monkeypatch, tmp_path):
    from torch.utils import cpp_extension

    seen = {}

    def capture(name, sources, *rest, **kwargs):
        seen.update({Path(path).name: Path(path).read_text() for path in sources})

    monkeypatch.setattr(cpp_extension, "_jit_compile", capture)
    copied = {key: list(value) if isinstance(value, list) else value for key, value in arguments.items()}
    cpp_extension.load_inline(build_directory=str(tmp_path), **copied)
    assert dict(from_load_inline(**arguments).units) == seen


@pytest.mark.parametrize(
    ("source", "digests"),
    [
        (CPP, 1),
        (CPP + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }', 1),
        (CPP + 'PYBIND11_MODULE(ext_1, m) { m.def("f", &f); }', 3),
        (CPP + "TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {}", 3),
    ],
)
def test_the_name_counts_only_where_sources_depend_on_it(source, digests):
    assert len({from_load_inline(f"ext_{n}", source).digest for n in range(3)}) == digests


@pytest.mark.parametrize(
    "change",
    [
        {"cpp_sources": CPP + " "},
        {"functions": ["f", "f2"]},
        {"cuda_sources": CUDA},
        {"extra_cflags": ["-O3"]},
        {"extra_cuda_cflags": ["-O3"]},
        {"extra_ldflags": ["-lcuda"]},
        {"with_cuda": True},
    ],
    ids=str,
)
def test_whatever_changes_the_artifact_changes_the_digest(change):
    plain = {"name": "a", "cpp_sources": CPP, "functions": ["f"]}
    assert from_load_inline(**{**plain, **change}).digest != from_load_inline(**plain).digest


def test_a_record_survives_json_and_nonsense_does_not_become_one():
    call = from_load_inline("a", CPP, CUDA, functions=["f"], extra_cuda_cflags=["-O3"])
    assert ExtensionCall.from_json(call.to_json()) == call
    good = call.to_json()
    for bad in (
        {},
        {**good, "name": "../../x"},
        {**good, "units": [["../x.cpp", ""]]},
        {**good, "units": []},
        {**good, "units": 3},
        {**good, "cflags": [1]},
        {**good, "ldflags": {"a": 1}},
    ):
        with pytest.raises(CallError):
            ExtensionCall.from_json(bad)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "not a name", "cpp_sources": CPP},
        {"name": "a", "cpp_sources": 3},
        {"name": "a", "cpp_sources": CPP, "functions": 3},
        {"name": "a", "cpp_sources": CPP, "extra_include_paths": ["/etc"]},
        {"name": "a", "cpp_sources": CPP, "sycl_sources": "x"},
    ],
    ids=str,
)
def test_wrong_arguments_are_the_candidates_fault(arguments):
    with pytest.raises(CallError):
        from_load_inline(**arguments)


HOST_ALLOWED = ("-O3", "-Ofast", "-std=c++17", "-DN=4", "-march=native", "-ffast-math", "-fopenmp", "-Wall", "-w", "-g")
HOST_REFUSED = (
    "-fplugin=/tmp/x.so", "-B/tmp", "-I/etc", "-include/etc/passwd", "-wrapper", "@/etc/passwd", "-specs=x", "-o", "x",
    "-fdump-tree-all", "-Wl,-rpath,/x", "-Wa,-a", "-Wp,-M", "-save-temps", "-x", "-L/tmp", "-fprofile-use=/etc/x",
)  # fmt: skip
CUDA_ALLOWED = (
    ["-O3"], ["--use_fast_math"], ["-lineinfo"], ["--expt-extended-lambda"], ["-Xptxas", "-O3,-v"], ["-Xptxas=-O3"],
    ["--ptxas-options=-v"], ["-maxrregcount=64"], ["-Xcompiler", "-O3,-Wall"], ["--compiler-options='-fopenmp'"],
    ["-std=c++17"], ["--fmad=false"], ["-diag-suppress", "20012"], ["-O3 --use_fast_math"], ["-DX=1"],
)  # fmt: skip
CUDA_REFUSED = (
    ["-ccbin=/tmp/x"], ["--options-file=x"], ["-Xcompiler", "-fplugin=x"], ["-Xcompiler=-B/tmp"], ["-include", "x"],
    ["--dryrun"], ["--keep"], ["-I/etc"], ["-o", "x"], ["--run"], ["-Xlinker", "x"], ["-Xptxas", "/etc/passwd"],
    ["--compiler-bindir", "/tmp"],
)  # fmt: skip


def test_flags():
    assert host_flags(HOST_ALLOWED) == HOST_ALLOWED
    for flag in HOST_REFUSED:
        with pytest.raises(FlagError, match="not allowed"):
            host_flags([flag])
    for flags in CUDA_ALLOWED:
        assert cuda_flags(flags).flags
    for flags in CUDA_REFUSED:
        with pytest.raises(FlagError, match="not allowed"):
            cuda_flags(flags)
    assert link_flags(["-lcublas", "-lcuda"]) == ("-lcublas", "-lcuda")
    for flag in ("-L/tmp", "-l:x.so", "-Wl,-rpath,/tmp", "/tmp/x.o", "-T/tmp/x"):
        with pytest.raises(FlagError):
            link_flags([flag])


def test_architectures_are_the_graders_but_variants_are_heard():
    assert architectures(["9.0", "sm_80", "90"]) == ("90", "80", "90")
    asked = cuda_flags(["-gencode", "arch=compute_90a,code=sm_90a", "-arch=sm_80", "--generate-code=arch=compute_75"])
    assert asked.flags == ()
    assert asked.specific == {"90a"}


HEAD = "from torch.utils.cpp_extension import load_inline\n"
READABLE = (
    "cpp = 'int f();'\next = load_inline(name='a', cpp_sources=cpp, functions=['f'])",
    "N = 4\ncpp = f'int f() {{ return {N}; }}'\nload_inline('a', [cpp])",
    "N = 4\ncpp = 'int f() { return %d; }' % N\nload_inline('a', [cpp])",
    "a = 'int f();'\nb = a + 'int g();'\nx = load_inline(name='a' + 'b', cpp_sources=b.strip(), functions={'f': 'd'})",
    "x = load_inline(name='a', cpp_sources='')\ny = load_inline(name='b', cpp_sources='', cuda_sources=['x'])",
    "class ModelNew:\n    def forward(self, x):\n        return ext.f(x)\next = load_inline('a', '')",
    "def build():\n    cpp = 'int f();'\n    return load_inline('a', cpp)\next = build()",
    "CPP = 'int f();'\ndef build():\n    return load_inline('a', CPP)\next = build()",
    "if True:\n    ext = load_inline('a', '')",
    "def other(cpp): return cpp\ncpp = 'int f();'\next = load_inline('a', cpp)",
)
UNREADABLE = (
    "for cpp in ['a', 'b']:\n    pass\next = load_inline('a', cpp)",
    "import os\next = load_inline('a', os.environ.get('X', ''))",
    "cpp = 'a'\ndef f():\n    global cpp\n    cpp = 'b'\nf()\next = load_inline('a', cpp)",
    "cpp = ['a']\ncpp.append('b')\next = load_inline('a', cpp)",
    "cpp = 'a'\nexec('cpp = 1')\next = load_inline('a', cpp)",
    "kwargs = {'name': 'a'}\next = load_inline(cpp_sources='', **kwargs)",
    "build = load_inline\next = build('a', '')",
    "import functools\nbuild = functools.partial(load_inline, 'a')\next = build('')",
    "import torch\ntorch.utils.cpp_extension.load_inline = print\next = load_inline('a', '')",
    "cpp = 'a'\ntry:\n    cpp = 'b'\nexcept Exception:\n    pass\next = load_inline('a', cpp)",
    "cpp = 'a'\ndef build(cpp):\n    return load_inline('a', cpp)\next = build('b')",
    "cpp = 'a'\nclass Build:\n    cpp = input()\n    ext = load_inline('a', cpp)",
    "ext = load_inline('a', '%999999999d' % 1)",
    "ext = load_inline('a', '{:999999999}'.format(1))",
    "this is no Python, cpp_extension",
)


@pytest.mark.parametrize("source", READABLE)
def test_constant_calls_are_read_off_the_text_as_the_module_makes_them(source):
    made = []
    names = {"load_inline": lambda *args, **kwargs: made.append(from_load_inline(*args, **kwargs))}
    exec(source, names)
    assert read_calls(HEAD + source) == Reading(tuple(made), complete=True)


@pytest.mark.parametrize("source", UNREADABLE)
def test_doubtful_modules_are_left_to_the_recorder(source):
    assert not read_calls(HEAD + source).complete


def test_calls_that_no_import_makes_are_found():
    lazy = "import functools\n@functools.lru_cache\ndef ext():\n    return load_inline('a', 'int f();')\n"
    method = "class ModelNew:\n    def __init__(self):\n        self.ext = load_inline('a', 'int f();')\n"
    wanted = Reading((from_load_inline("a", "int f();"),), complete=True)
    assert read_calls(HEAD + lazy) == wanted
    assert read_calls(HEAD + method) == wanted


def test_modules_that_build_nothing_and_wrong_constant_arguments():
    assert read_calls("import torch\nx = 1") == Reading((), complete=True)
    with pytest.raises(CallError):
        read_calls(HEAD + "load_inline('a', 3)")
    with pytest.raises(CallError):
        read_calls(HEAD + "load_inline(nonsense='a')")
