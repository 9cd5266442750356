"""Real builds: what compiles runs through the resolver, what does not says where, and nobody is hurt on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.build import build, prepare
from evaluator.build.cache import ArtifactCache
from evaluator.build.toolchain import toolchain
from evaluator.errors import SubmissionFault
from evaluator.limits import Limits
from evaluator.sandbox.processes import running
from evaluator.verdicts import Verdict

LIMITS = Limits(build_s=120.0)
needs_nvcc = pytest.mark.skipif(toolchain().nvcc is None, reason="no nvcc")

#: A module of plain C API: it compiles in a second, which one with torch's headers does not.
TINY_CPP = r"""
#include <Python.h>
DECLARE
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0, 0, 0, 0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", 0, -1, methods};
PyMODINIT_FUNC PyInit_NAME() { return PyModule_Create(&module); }
"""
TINY_CU = r"""
__global__ void add_one(int* x) { x[threadIdx.x] += 1; }
int answer_from_cuda() { return 43; }
"""


def tiny(name: str = "tiny", answer: str = "42", declare: str = "", **arguments) -> str:
    """A submission whose extension has a function `answer`."""
    cpp = TINY_CPP.replace("NAME", name).replace("ANSWER", answer).replace("DECLARE", declare)
    more = "".join(f", {key}={value!r}" for key, value in arguments.items())
    return (
        "from torch.utils.cpp_extension import load_inline\n\n"
        f'cpp = r"""{cpp}"""\n\n'
        f'ext = load_inline(name="{name}", cpp_sources=cpp, no_implicit_headers=True{more})\n'
        "result = ext.answer\n"
    )


def run_build(source: str, cache: Path, limits: Limits = LIMITS, **options):
    return build(source, arch_list=("9.0",), cache_dir=cache, limits=limits, jobs=2, **options)


def run_in_runner(source: str, artifacts: dict[str, str], expression: str) -> str:
    """What `expression` is after importing the source as a runner does: with the resolver in torch's place."""
    script = (
        "import json, sys\nfrom evaluator.runner.extensions import install_resolver\n"
        "source, artifacts, expression = json.load(sys.stdin)\ninstall_resolver(artifacts)\n"
        "names = {'__name__': 'submission'}\nexec(source, names)\nprint(repr(eval(expression, names)))"
    )
    order = json.dumps([source, artifacts, expression])
    done = subprocess.run([sys.executable, "-c", script], input=order, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("extensions")


RELU = '''
import torch
from torch.utils.cpp_extension import load_inline

cpp = """
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
  return x.clamp_min(0);
}
"""
ext = load_inline(name="relu_ext", cpp_sources=[cpp], functions={"relu": "max(x, 0)"}, verbose=True)
'''


def test_a_torch_extension_runs_through_the_resolver_with_a_precompiled_header(cache):
    header = prepare(cache)
    result = run_build(RELU, cache)
    assert Path(header, "torch/extension.h.gch").exists()
    assert result.compiled == 1
    assert run_in_runner(RELU, dict(result.artifacts), "ext.relu(torch.tensor([-1., 2.])).tolist()") == "[0.0, 2.0]"
    assert run_in_runner(RELU, dict(result.artifacts), "'max(x, 0)' in ext.relu.__doc__") == "True"


def test_a_build_is_found_again_in_the_cache_and_can_be_brought_along(cache, tmp_path):
    first, second = run_build(tiny(), cache), run_build(tiny(), cache)
    assert (first.compiled, second.compiled) == (1, 0)
    assert first.artifacts == second.artifacts
    for name, path in first.bring():
        (tmp_path / name).write_bytes(Path(path).read_bytes())
    assert run_in_runner(tiny(), first.in_folder(tmp_path), "result()") == "42"


def test_several_extensions_of_one_module_and_one_that_only_an_import_reveals(cache):
    first, second = tiny(), tiny(name="other", answer="7").replace("result", "second").replace("ext", "ext2")
    both = f"{first}\nfor _ in [0]:\n" + "".join(
        f"    {line}\n" for line in second.splitlines() if "import" not in line
    )
    both = both.replace("    #include", "#include")
    result = run_build(both, cache)
    assert len(result.artifacts) == 2
    assert run_in_runner(both, dict(result.artifacts), "result(), second()") == "(42, 7)"


def test_what_was_not_built_is_refused_with_a_remedy(cache):
    late = tiny().replace("ext = ", "def build(cpp): return ").replace("result = ext.answer", "")
    result = run_build(late, cache)
    assert result.artifacts == {}
    assert "call load_inline at the top level" in run_in_runner(late, {}, "build(cpp)")


@needs_nvcc
def test_cuda_is_compiled_for_the_asked_architecture(cache):
    source = tiny(
        name="with_cuda", answer="answer_from_cuda()", declare="int answer_from_cuda();", cuda_sources=TINY_CU
    )
    result = run_build(source, cache)
    (path,) = result.artifacts.values()
    assert b"sm_90" in Path(path).read_bytes()
    assert "compile cuda.cu" in result.phases


def fault_of(source: str, cache: Path, limits: Limits = LIMITS) -> str:
    with pytest.raises(SubmissionFault) as caught:
        run_build(source, cache, limits)
    assert caught.value.verdict is Verdict.COMPILE_ERROR
    return caught.value.feedback


def test_an_error_names_the_line_of_the_policys_own_source(cache):
    source = tiny(answer="undeclared_thing + 1")
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "undeclared_thing" in text)
    feedback = fault_of(source, cache)
    assert f"line {line} of your source" in feedback
    assert "undeclared_thing" in feedback
    assert "/tmp" not in feedback


@needs_nvcc
def test_an_error_in_cuda_names_its_line_too(cache):
    cuda = "\n__global__ void k(int* x) {\n  x[0] = nothing_here;\n}\n"
    source = tiny(cuda_sources=cuda).replace(repr(cuda), f'"""{cuda}"""')
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "nothing_here" in text)
    feedback = fault_of(source, cache)
    assert f"line {line} of your source" in feedback
    assert 'identifier "nothing_here" is undefined' in feedback


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "/etc/shadow", "SECRET"])
def test_includes_reveal_nothing(cache, tmp_path, monkeypatch, path):
    monkeypatch.setenv("DATABASE_URL", "s3cret-in-the-environment")
    secret = tmp_path / "secret"
    secret.write_text("s3cret in a file")
    tmp_path.chmod(0o755)
    include = f'#include "{secret if path == "SECRET" else path}"'
    for broken in ("", "\nthis is no C++;"):
        try:
            result = run_build(tiny(declare=include + broken), cache)
        except SubmissionFault as fault:
            said = fault.feedback
        else:
            said = result.log + str([Path(path).read_bytes() for path in result.artifacts.values()])
        assert "s3cret" not in said
        assert "root:" not in said


def test_flags_that_name_programs_are_refused(cache):
    assert "not allowed" in fault_of(tiny(extra_cflags=["-fplugin=/tmp/x.so"]), cache)


def test_an_import_that_fails_is_left_to_the_runner_with_what_was_asked_before(cache):
    lazy = (
        tiny(answer="44")
        .replace("ext = load_inline(", "import functools\next = functools.partial(load_inline, ")
        .replace("ext.answer", "ext().answer")
    )
    broken = f"{lazy}\nraise ValueError('no device')\n"
    assert len(run_build(broken, cache).artifacts) == 1
    assert "no device" in run_in_runner(broken, dict(run_build(broken, cache).artifacts), "1")
    assert run_build("import os\nos._exit(0)\nload_inline.x", cache).artifacts == {}


ENDLESS = """
from torch.utils.cpp_extension import load_inline
while True:
    pass
if ready:
    load_inline(**ready)
"""
FOREVER = "constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); } constexpr long x = f(90);"
FOREVER_FLAGS = [
    "-fconstexpr-ops-limit=99999999999999",
    "-fconstexpr-loop-limit=999999999",
    "-fconstexpr-cache-depth=1",
]


def test_an_endless_import_and_an_endless_compilation_time_out(cache):
    assert "timed out" in fault_of(ENDLESS, cache, Limits(build_s=6.0))
    assert "timed out" in fault_of(tiny(declare=FOREVER, extra_cflags=FOREVER_FLAGS), cache, Limits(build_s=2.0))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a privilege to take away")
def test_walls_that_are_required_and_missing_stop_the_build(cache):
    script = (
        "from evaluator.build import build\nfrom evaluator.limits import Limits\nimport sys\n"
        f"build(sys.stdin.read(), arch_list=('9.0',), cache_dir={str(cache)!r}, limits=Limits(), "
        "require_isolation=('filesystem', 'seccomp'))"
    )
    command = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", script]
    done = subprocess.run(command, input=tiny(answer="1000"), capture_output=True, text=True, check=False)
    assert "not_confined: OSError: filesystem (" in done.stderr
    assert "seccomp" not in done.stderr.splitlines()[-1]


def test_a_killed_builder_leaves_no_lock_and_no_process(tmp_path):
    script = (
        "import sys\nfrom evaluator.build import build\nfrom evaluator.limits import Limits\n"
        f"build(sys.stdin.read(), arch_list=('9.0',), cache_dir={str(tmp_path)!r}, limits=Limits())"
    )
    builder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True)
    builder.stdin.write(tiny(declare=FOREVER, extra_cflags=FOREVER_FLAGS))
    builder.stdin.close()

    def compilers() -> list[int]:
        family = {builder.pid}
        found = []
        for process in sorted(running(lambda _: True), key=lambda process: process.started):
            if process.parent in family:
                family.add(process.pid)
                found.append(process.pid)
        return found

    end = time.monotonic() + 30
    while len(seen := compilers()) < 4:
        assert time.monotonic() < end
        time.sleep(0.02)
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    while any(running(lambda process: process.pid in seen)):
        assert time.monotonic() < end
        time.sleep(0.02)
    (lock,) = (tmp_path / "locks").iterdir()
    with ArtifactCache(tmp_path).lock(lock.name, deadline_s=0.0):
        pass


def test_the_least_recently_used_artifacts_go_first(tmp_path):
    artifacts = ArtifactCache(tmp_path)
    paths = [artifacts.put(f"{n}" * 64, "a.so", bytes(1000)) for n in range(3)]
    for age, path in enumerate(paths):
        os.utime(path, (1000 - age, 1000 - age))
    assert artifacts.get("2" * 64, "a.so")
    assert artifacts.prune(max_bytes=2000) == 2000
    assert [path.exists() for path in paths] == [True, False, True]
