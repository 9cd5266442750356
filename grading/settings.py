"""Every setting of every process, read once from the environment; a wrong value stops the start with one sentence."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from evaluator.config import EVALUATOR_KINDS, PRECISION_POLICIES, EvaluatorConfig, EvaluatorKind, PrecisionPolicy
from evaluator.limits import Limits
from evaluator.reward import REWARD_MODES, RewardMode
from evaluator.sandbox.isolation import WALLS
from grading.environment import Reader, SettingsError, default_evaluator

__all__ = ["Settings", "SettingsError", "load"]

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
# beside a timing on a GPU there is room for another's start and compilation; on a CPU they would disturb it
DEFAULT_LANES: dict[EvaluatorKind, int] = {"gpu": 3, "cpu": 1, "mock": 1}
LANES_MAX = 16
# a build keeps two compilers busy; the other cores are for runners and judges
CORES_PER_BUILDER = 4
DEFAULT_BUILDERS_MAX = 8


@dataclass(frozen=True)
class Leases:
    """How long claims live and how often they are looked after; seconds."""

    lease_s: float = 30.0
    renew_s: float = 10.0
    slot_lease_s: float = 15.0
    idle_look_s: float = 2.0
    reap_s: float = 5.0
    drain_s: float = 20.0
    deaf_s: float = 60.0
    canary_s: float = 600.0
    attempts: int = 3
    episode_idle_s: float = 24 * 3600.0


@dataclass(frozen=True)
class Settings:
    """What the processes of one installation share. Times in seconds, sizes in bytes.

    `auth` of None: by keys, unless the API listens on the loopback alone.
    """

    data_dir: Path
    database_url: str
    redis_url: str
    port: int
    bind: str
    auth: bool | None
    api_processes: int
    rate_per_minute: int
    in_flight_max: int
    body_s: float
    answer_s: float
    kernelbench_dir: Path
    added_tasks_dir: Path
    gpus: tuple[int, ...]
    evaluator: EvaluatorKind
    lanes: int
    builders: int
    products_bytes: int
    max_turns: int
    max_sessions: int
    eval_log: Path | None
    reward: RewardMode
    partial_credit: bool
    precision_policy: PrecisionPolicy
    require_isolation: tuple[str, ...]
    mock_eval_s: float
    measure_unknown_gpu: bool
    deadline_s: float
    wait_max_s: float
    host: str
    log_level: str
    secret: str | None = field(repr=False)
    limits: Limits = field(default_factory=Limits)
    leases: Leases = field(default_factory=Leases)

    def evaluator_config(self, gpu_index: int = 0) -> EvaluatorConfig:
        """The set-up of the evaluator for one device (`gpu_index` as the driver counts)."""
        return EvaluatorConfig(
            kind=self.evaluator,
            tasks_dir=str(self.kernelbench_dir),
            added_tasks_dir=str(self.added_tasks_dir),
            state_dir=str(self.data_dir / "evaluator"),
            gpu_index=gpu_index,
            lanes=self.lanes,
            limits=self.limits,
            precision_policy=self.precision_policy,
            require_isolation=self.require_isolation,
            mock_eval_s=self.mock_eval_s,
            measure_unknown_gpu=self.measure_unknown_gpu,
        )

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read the settings; raises SettingsError, whose text names the variable and what it takes."""
        reader = Reader(os.environ if environ is None else environ)
        evaluator = reader.choice("KERNEL_ENV_EVALUATOR", default_evaluator(), EVALUATOR_KINDS)
        data_dir = reader.path("KERNEL_ENV_DATA_DIR", Path(".data")).absolute()
        return cls(
            data_dir=data_dir,
            database_url=database_url(reader, data_dir),
            redis_url=redis_url(reader, data_dir),
            port=reader.integer("PORT", 8000, low=0, high=65535),
            bind=reader.text("KERNEL_ENV_BIND", "127.0.0.1"),
            auth=reader.optional_flag("KERNEL_ENV_AUTH"),
            api_processes=reader.integer("KERNEL_ENV_API_PROCESSES", 1, low=1, high=64),
            rate_per_minute=reader.integer("KERNEL_ENV_RATE_PER_MINUTE", 60_000, low=1, high=10**9),
            in_flight_max=reader.integer("KERNEL_ENV_IN_FLIGHT_MAX", 20_000, low=1, high=10**9),
            body_s=reader.number("KERNEL_ENV_BODY_S", 30.0, low=0.1, high=3600.0),
            answer_s=reader.number("KERNEL_ENV_ANSWER_S", 120.0, low=0.1, high=3600.0),
            kernelbench_dir=reader.path("KERNELBENCH_DIR", REPOSITORY / "kernelbench_tasks").absolute(),
            added_tasks_dir=reader.path("KERNEL_ENV_ADDED_TASKS_DIR", data_dir / "tasks").absolute(),
            gpus=reader.integers("KERNEL_ENV_GPUS", (0,)),
            evaluator=evaluator,
            lanes=reader.integer("KERNEL_ENV_LANES", DEFAULT_LANES[evaluator], low=1, high=LANES_MAX),
            builders=reader.integer("KERNEL_ENV_BUILDERS", default_builders(evaluator), low=0, high=64),
            products_bytes=reader.integer("KERNEL_ENV_PRODUCTS_BYTES", 512 * 1024**2, low=1, high=2**62),
            max_turns=reader.integer("KERNEL_ENV_MAX_TURNS", 4, low=1, high=1000),
            max_sessions=reader.integer("KERNEL_ENV_MAX_SESSIONS", 64, low=1, high=100_000),
            eval_log=reader.optional_path("KERNEL_ENV_EVAL_LOG"),
            reward=reader.choice("KERNEL_ENV_REWARD", "speedup", REWARD_MODES),
            partial_credit=reader.flag("KERNEL_ENV_PARTIAL_CREDIT", default=False),
            precision_policy=reader.choice("KERNEL_ENV_PRECISION_POLICY", "reject", PRECISION_POLICIES),
            require_isolation=reader.names("KERNEL_ENV_REQUIRE_ISOLATION", WALLS),
            mock_eval_s=reader.number("KERNEL_ENV_MOCK_EVAL_S", 0.0, low=0.0, high=3600.0),
            measure_unknown_gpu=reader.flag("KERNEL_ENV_MEASURE_UNKNOWN_GPU", default=False),
            deadline_s=reader.number("KERNEL_ENV_DEADLINE_S", 3600.0, low=1.0, high=30 * 86400.0),
            wait_max_s=reader.number("KERNEL_ENV_WAIT_MAX_S", 60.0, low=0.0, high=600.0),
            host=reader.text("KERNEL_ENV_HOST", os.uname().nodename),
            log_level=reader.choice("KERNEL_ENV_LOG_LEVEL", "info", ("debug", "info", "warning", "error")),
            secret=reader.optional_text("KERNEL_ENV_SECRET"),
            limits=limits(reader),
            leases=leases(reader),
        )


def default_builders(evaluator: EvaluatorKind) -> int:
    """By the cores of this host; the mock compiles nothing."""
    return 0 if evaluator == "mock" else min(max((os.cpu_count() or 1) // CORES_PER_BUILDER, 1), DEFAULT_BUILDERS_MAX)


T = TypeVar("T", Limits, Leases)


def limits(reader: Reader) -> Limits:
    """The evaluator's limits, each under its own name; `ROOFLINE_REJECT` keeps the name that scripts know."""
    return numbers(reader, Limits(), {"roofline_reject_frac": "KERNEL_ENV_ROOFLINE_REJECT"}, Limits)


def leases(reader: Reader) -> Leases:
    """Leases; a claim must survive one missed renewal, or a busy database would end grades."""
    found = numbers(reader, Leases(), {}, Leases)
    if found.renew_s * 2 > found.lease_s:
        raise SettingsError("KERNEL_ENV_RENEW_S", f"at most half of KERNEL_ENV_LEASE_S ({found.lease_s:g})")
    return found


def numbers(reader: Reader, defaults: T, names: Mapping[str, str], make: Callable[..., T]) -> T:
    """Read every field of a record of positive numbers from `KERNEL_ENV_<FIELD>`, or from the name given for it."""
    values: dict[str, Any] = {}
    for key, default in vars(defaults).items():
        name = names.get(key, f"KERNEL_ENV_{key.upper()}")
        if isinstance(default, int):
            values[key] = reader.integer(name, default, low=1, high=2**62)
        else:
            values[key] = reader.number(name, default, low=0.0, high=1e9)
    return make(**values)


def database_url(reader: Reader, data_dir: Path) -> str:
    """`DATABASE_URL` with its driver spelled out, or SQLite in the data directory."""
    url = reader.text("DATABASE_URL", f"sqlite:///{data_dir / 'kernel-grader.db'}")
    for scheme in ("postgres://", "postgresql://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    if not url.startswith(("postgresql+psycopg://", "sqlite:///")):
        raise SettingsError("DATABASE_URL", "a URL that starts with postgresql:// or sqlite:///")
    return url


def redis_url(reader: Reader, data_dir: Path) -> str:
    """`REDIS_URL`, else what the launcher noted for its own broker in the data directory, else the usual address."""
    noted = data_dir / "broker.url"
    default = noted.read_text().strip() if noted.is_file() else DEFAULT_REDIS_URL
    url = reader.text("REDIS_URL", default)
    if not url.startswith(("redis://", "rediss://", "unix://", "redis+socket://")):
        raise SettingsError("REDIS_URL", "a URL that starts with redis://, rediss:// or unix://")
    return url


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; see `Settings.load`."""
    return Settings.load(environ)
