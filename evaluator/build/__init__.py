"""Builds what CUDA submissions ask of `load_inline`, ahead of the GPU: recorded, compiled confined, cached by content.

result = build(source, arch_list=("9.0",), cache_dir=state_dir / "extensions", limits=limits)
policy = leash.policy(device=True, bring=result.bring())         # the runner finds them in its scratch
extensions.install_resolver(result.in_folder(scratch))           # in the runner, before the candidate
"""

from evaluator.build.driver import BuildResult, build, prepare
from evaluator.build.headers import COMMON_FLAGS

__all__ = ["COMMON_FLAGS", "BuildResult", "build", "prepare"]
