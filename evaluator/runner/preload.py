"""What a zygote imports and warms before it forks, so that no runner pays for it again."""

import os
import tempfile


def run(kind: str) -> None:
    """Import torch and triton for `kind` (`cpu` or `gpu`) without starting threads or touching a device."""
    if kind == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    import torch
    import triton.language  # noqa: F401 - imported for the runners to inherit

    from evaluator.runner.guard import TorchGuard

    torch.set_num_threads(1)
    # A guard that cannot be raised on this version of torch must show here, where it is our fault and nobody else's.
    guard = TorchGuard("cuda" if kind == "gpu" else "cpu", "none")
    guard.up()
    guard.down()
    if kind == "gpu":
        share_triton_helpers()
    if kind == "cpu":
        from evaluator.runner.interpreter import install_benchmarker, mend_constexpr, warm_up

        install_benchmarker()
        mend_constexpr()
        warm_up()


def share_triton_helpers() -> None:
    """Build and load Triton's helper module for the driver, which it otherwise builds in every empty cache: 0.5 s.

    It is the same for everybody, and every runner has its own copy of this process's memory.
    """
    from triton.backends.nvidia.driver import CudaUtils

    with tempfile.TemporaryDirectory(prefix="triton-helpers-") as cache:
        before = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = cache
        try:
            CudaUtils()
        except Exception:  # noqa: BLE001 - whatever keeps it from being built here, a runner will say for itself
            return
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before
    # There is one instance, which every `CudaUtils()` would build again.
    CudaUtils.__init__ = lambda self: None
