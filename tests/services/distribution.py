"""Which tests of a parallel run stay together in one process."""

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

# their tests share servers that take long to start, or an environment to be installed
WHOLE_FOLDERS = tuple(f"tests/{name}" for name in ("adapters", "app", "chaos", "client", "openenv", "train"))


class ByServers(LoadScopeScheduling):  # type: ignore[misc]
    """A file's tests stay together and in order, as do a whole folder's that share their servers."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = str(PurePosixPath(file).parent)
        return folder if folder in WHOLE_FOLDERS else file
