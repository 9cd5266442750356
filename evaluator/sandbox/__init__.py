"""Confinement of hostile candidates: walls built from the inside (Confinement), a leash held from the outside (Leash).

The confined side, in a process that the zygote has just forked:

    pid, reason = fork_into_pid_namespace()            # or os.fork() where the policy grants the device
    confinement = Confinement(policy, parent, no_pid_namespace=reason)
    confinement.enter_before_device(keep_fds=[channel.fileno()])
    ...                                                # CUDA context, mapping of the judge's buffers
    isolation = confinement.enter_after_device()

The trusted side:

    warden = Warden.start()                            # once per judge
    with Leash.take("gpu0", memory_bytes=limits.runner_memory_bytes) as leash:
        policy = leash.policy(device=True)             # to the zygote, as policy.to_json(); it answers with a pid
        leash.attach(pid)
        warden.watch(hold := leash.hold)
        leash.freeze(), leash.thaw()
        leash.kill()                                   # nothing of the runner runs when this returns
        warden.release(hold)
"""

from evaluator.sandbox.confinement import Confinement
from evaluator.sandbox.hold import Hold
from evaluator.sandbox.isolation import WALLS, Isolation, Wall
from evaluator.sandbox.leash import Leash
from evaluator.sandbox.namespaces import fork_into_pid_namespace
from evaluator.sandbox.parent import Parent
from evaluator.sandbox.policy import Policy
from evaluator.sandbox.trusted import protect_from_same_user
from evaluator.sandbox.warden import Warden

__all__ = [
    "WALLS",
    "Confinement",
    "Hold",
    "Isolation",
    "Leash",
    "Parent",
    "Policy",
    "Wall",
    "Warden",
    "fork_into_pid_namespace",
    "protect_from_same_user",
]
