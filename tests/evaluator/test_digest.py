"""The digest of device memory, in Triton's interpreter: the same for the same bytes, whatever the order of blocks."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json, torch
from evaluator.judge.digest import cuda_digests

def digests(data, times=1):
    return [found.hex() for _ in range(times) for found in cuda_digests([data], 12345)]

data = torch.randint(0, 256, (7 * 4 * 4096 + 13,), dtype=torch.uint8)
flipped, swapped, tail = data.clone(), data.clone(), data.clone()
flipped[5000] ^= 1
swapped[0:4], swapped[8:12] = data[8:12], data[0:4]
tail[-1] ^= 1
row = [data[at : at + size] for at, size in [(0, 9000), (9001, 9000), (512, 7), (32768, 9000), (0, 16384), (3, 7)]]
print(json.dumps({
    "same": digests(data, 9),
    "others": digests(flipped) + digests(swapped) + digests(tail) + [cuda_digests([data], 54321)[0].hex()],
    "small": digests(data[:3], 2) + digests(data[:16384], 2),
    "each": [digests(region)[0] for region in row],
    "row": [found.hex() for found in cuda_digests(row, 12345)],
}))
"""


def test_digests_tell_bytes_and_places_apart_in_any_order_of_blocks() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(set(found["same"])) == 1
    assert len({*found["same"], *found["others"]}) == 5
    assert len(set(found["small"])) == 2
    assert found["row"] == found["each"]
    assert len(set(found["row"])) == 6
