"""nvcc's own commands, run beside each other: its host and device front ends take equally long and wait for nobody.

nvcc runs them one after another (`-t` splits only between architectures). The one thing that ties them is the file
with the module's id, which the host front end writes and the device one reads; it is written beforehand here.
"""

import re
from dataclasses import dataclass
from typing import Final

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)")
_MODULE_ID_FILE: Final = re.compile(r'--module_id_file_name "([^"]+)"')
_WRITE_ID_FLAG: Final = " --gen_module_id_file"


@dataclass(frozen=True)
class SplitCommands:
    """Shell command lines: `host` and each of `devices` are chains that may run beside each other, then `join`."""

    environment: dict[str, str]
    id_file: str
    host: tuple[str, ...]
    devices: tuple[tuple[str, ...], ...]
    join: tuple[str, ...]


def split(dryrun: str) -> SplitCommands | None:
    """What `nvcc --dryrun` printed, rearranged; None where it is not of the shape that is known (nvcc 12 and 13)."""
    environment, commands = _lines(dryrun)
    cudafe = [index for index, line in enumerate(commands) if line.startswith("cudafe++ ")]
    fatbin = [index for index, line in enumerate(commands) if line.startswith("fatbinary ")]
    if len(cudafe) != 1 or len(fatbin) != 1 or not cudafe[0] < fatbin[0] < len(commands) - 1:
        return None
    host, between = commands[: cudafe[0] + 1], commands[cudafe[0] + 1 : fatbin[0]]
    id_file = _MODULE_ID_FILE.search(host[-1])
    devices = _chains(between)
    if id_file is None or _WRITE_ID_FLAG not in host[-1] or devices is None or not commands[-1].endswith('.o" '):
        return None
    host[-1] = host[-1].replace(_WRITE_ID_FLAG, "")
    return SplitCommands(environment, id_file[1], tuple(host), devices, tuple(commands[fatbin[0] :]))


def _lines(dryrun: str) -> tuple[dict[str, str], list[str]]:
    environment: dict[str, str] = {}
    commands: list[str] = []
    for line in dryrun.splitlines():
        if not line.startswith("#$ "):
            continue
        text = line[3:]
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment and not commands:
            environment[assignment[1]] = assignment[2]
        elif not text.startswith("rm "):
            commands.append(text)
    return environment, commands


def _chains(commands: list[str]) -> tuple[tuple[str, ...], ...] | None:
    """One chain per architecture: preprocess, cicc, ptxas. A chain ends with its ptxas."""
    chains: list[tuple[str, ...]] = []
    current: list[str] = []
    for line in commands:
        current.append(line)
        if line.startswith("ptxas "):
            chains.append(tuple(current))
            current = []
    complete = all(any("/cicc" in line for line in chain) for chain in chains)
    return tuple(chains) if chains and complete and not current else None
