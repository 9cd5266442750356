"""What a zygote imports and warms before it forks, so that no runner pays for it again."""

import os


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
    if kind == "cpu":
        from evaluator.runner.interpreter import install_benchmarker, mend_constexpr, warm_up

        install_benchmarker()
        mend_constexpr()
        warm_up()
