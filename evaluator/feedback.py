"""Text for the policy: bounded in size, the same for the same fault."""


def trim_middle(text: str, limit_bytes: int) -> str:
    """`text` in at most `limit_bytes` bytes of UTF-8, with what is left out cut from the middle."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    marker = b"\n[...]\n"
    half = max((limit_bytes - len(marker)) // 2, 0)
    return (data[:half] + marker + data[len(data) - half :]).decode("utf-8", "ignore")
