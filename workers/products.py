"""Products between this machine's cache and the database, through which the workers of all hosts share them."""

from collections.abc import Sequence

from structlog import get_logger

from evaluator.build import handover
from evaluator.build.cache import ArtifactCache
from evaluator.prebuilt import Prebuilt, Product
from evaluator.submission import Submission
from grading import jobs
from workers.runtime import TRANSIENT, Runtime

log = get_logger(__name__)

# what is larger stays on the machine that built it; graders elsewhere build it again
PRODUCT_MAX_BYTES = 64 * 1024**2


def publish(here: Runtime, made: Sequence[Prebuilt]) -> None:
    """Store what a builder made. Raises SQLAlchemy's errors where the database is away."""
    for product in {each.sha256: each for prebuilt in made for each in prebuilt.products}.values():
        path = handover.kept(product, here.config.extensions_dir)
        if path is None or path.stat().st_size > PRODUCT_MAX_BYTES:
            log.warning("product_not_stored", product=product.file_name, sha256=product.sha256)
            continue
        jobs.store_product(here.db, product.sha256, path.read_bytes())


def fetch(here: Runtime, source: Submission) -> None:
    """Bring what was built for a submission onto this machine; what cannot be had is built again."""
    for product in source.prebuilt.products if source.prebuilt is not None else ():
        try:
            _fetch(here, product)
        except (*TRANSIENT, ValueError, OSError) as error:
            log.warning("product_not_fetched", error=repr(error))


def _fetch(here: Runtime, product: Product) -> None:
    if handover.kept(product, here.config.extensions_dir) is not None:
        return
    content = jobs.load_product(here.db, product.sha256)
    if content is None:
        raise ValueError(f"{product.file_name} is no longer in the database")
    handover.keep(product, content, here.config.extensions_dir)
    ArtifactCache(here.config.extensions_dir).prune(here.config.limits.build_cache_bytes)
