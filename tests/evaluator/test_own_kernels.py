"""Names of a submission's kernels, from sources as people write them."""

import pytest

from evaluator.own_kernels import own_kernel_names
from evaluator.static.source import Source
from evaluator.static.syntax import parse


def names_of(code: str) -> set[str]:
    return set(own_kernel_names(Source(parse(code))))


def cuda(source: str) -> set[str]:
    return names_of(f"from torch.utils.cpp_extension import load_inline\nSOURCE = r'''{source}'''\n")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__global__ void k(float* x) { f(x); }", {"k"}),
        ('extern "C" __global__ void __launch_bounds__(256) k(float* x) {}', {"k"}),
        ("__global__ __launch_bounds__(THREADS * (2), 2) void k(float* x) {}", {"k"}),
        ("__launch_bounds__(256) __global__ void k(float* x) {}", {"k"}),
        ("__global__ void __launch_bounds__((N)*2) __cluster_dims__(2, 1, 1) k(float* x) {}", {"k"}),
        ("template <typename T, int N>\n__global__\nvoid\nk (const T* __restrict__ x) {}", {"k"}),
        ("static __global__ void a(int n); // __global__ void not_me(int)\n__global__ void b() {}", {"a", "b"}),
        ("/* __global__ void not_me() */ namespace { __global__ void k(float4* x) {} }", {"k"}),
        ('const char* s = "__global__ void not_me()"; __global__ void k() {}', {"k"}),
        ("__global__ void __attribute__((noinline)) k(int n) {}", {"k"}),
        ("#define KERNEL extern \"C\" __global__ void\nKERNEL a(float* x) {}\nKERNEL b(int n) {}", {"a", "b"}),
        ("#define GLOBAL __global__\nGLOBAL void k(int n) {}", {"k"}),
        (
            "#define U(name, op) \\\n  __global__ void name##_kernel(float* x) { op(x); }\nU(relu, r)\nU( gelu , g )",
            {"relu_kernel", "gelu_kernel"},
        ),
        ("#define K(T, name) __global__ void k_##name##_f(T* x) {}\nK(float, a)\nK(int, b)", {"k_a_f", "k_b_f"}),
        ("#define DEFINE(name) __global__ void name(float* x)\nDEFINE(my_kernel) { x[0] = 1; }", {"my_kernel"}),
        ("#define CHECK(x) assert(x)\n__global__ void k() { CHECK(1); }", {"k"}),
        ("void launch() { k<<<1, 2>>>(x); }", set()),
        ("__global__", set()),
    ],
)  # fmt: skip
def test_cuda_kernels(source: str, names: set[str]) -> None:
    assert cuda(source) == names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import triton\n@triton.jit\ndef k(x): pass", {"k"}),
        ("from triton import jit as j\n@j\ndef k(x): pass\ndef helper(): pass", {"k"}),
        ("import triton\n@triton.autotune([], [])\n@triton.heuristics({})\n@triton.jit\ndef k(x): pass", {"k"}),
        ("import triton\n@triton.jit(debug=True)\ndef k(x): pass", {"k"}),
        ("import triton\nclass A:\n  @triton.jit\n  def k(x): pass", {"k"}),
        ("import triton\ndef body(x): pass\nkernel = triton.jit(body)", {"body"}),
        ("import triton\ndef mine(f): return triton.jit(f)\n@mine\ndef k(x): pass", {"mine", "k"}),
        ("def k(x): pass", set()),
    ],
)
def test_triton_kernels(code: str, names: set[str]) -> None:
    assert names_of(code) == names


def test_docstrings_and_plain_strings_of_other_languages_name_nothing() -> None:
    assert names_of("TEXT = 'a void k(int) that is not global'") == set()


@pytest.mark.parametrize(
    "source",
    [
        "#define A(x) __global__ void x##k(int)\n" * 6000 + "A(b)\n" * 1000,
        "#define A __global__\n" * 12000,
        "__global__ " * 20000,
        "__global__ " + "a ## " * 50000,
        "__global__ __launch_bounds__" + "(" * 200000,
        "#define A(x) __global__ void x(int)\n" + "A(" * 100000,
        "#define " + "\\\n" * 100000,
    ],
    ids=lambda source: source[:24],
)
@pytest.mark.timeout(60)
def test_hostile_sources_take_no_time(source: str) -> None:
    assert len(cuda(source)) <= 100_000  # what would be quadratic takes minutes
