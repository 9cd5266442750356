"""Products on their way from a builder to a judge: named by their content, which whoever takes them checks."""

import hashlib
from pathlib import Path

from evaluator.build.cache import ArtifactCache
from evaluator.build.driver import BuildResult
from evaluator.build.plan import architectures
from evaluator.build.toolchain import toolchain
from evaluator.prebuilt import Prebuilt, Product


def fingerprint(architecture: str) -> str:
    """What besides the source decides a product: compilers, torch, Python and the architecture. Raises GraderFault."""
    return toolchain().fingerprint(architectures((architecture,)))


def give(result: BuildResult, architecture: str, cache_dir: str | Path) -> Prebuilt:
    """Name a build's files by their content, and keep them in the cache under it."""
    products = []
    for path in map(Path, result.artifacts.values()):
        content = path.read_bytes()
        product = Product(path.name, hashlib.sha256(content).hexdigest())
        keep(product, content, cache_dir)
        products.append(product)
    return Prebuilt(architecture, fingerprint(architecture), tuple(products))


def keep(product: Product, content: bytes, cache_dir: str | Path) -> Path:
    """Put a product that came from elsewhere into the cache. Raises ValueError where it is not what its hash says."""
    if hashlib.sha256(content).hexdigest() != product.sha256:
        raise ValueError(f"{product.file_name} is not what its hash says")
    return ArtifactCache(cache_dir).put(product.sha256, product.file_name, content)


def kept(product: Product, cache_dir: str | Path) -> Path | None:
    """The product in the cache; None where it is not there, or is not what its hash says."""
    path = ArtifactCache(cache_dir).get(product.sha256, product.file_name)
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return path if hashlib.sha256(content).hexdigest() == product.sha256 else None


def take(prebuilt: Prebuilt | None, wanted_fingerprint: str, cache_dir: str | Path) -> BuildResult | None:
    """A build that was made elsewhere; None where it does not fit here or is incomplete: then it is built here."""
    if prebuilt is None or prebuilt.fingerprint != wanted_fingerprint:
        return None
    artifacts = {}
    for product in prebuilt.products:
        path = kept(product, cache_dir)
        if path is None:
            return None
        artifacts[product.file_name.partition(".")[0]] = str(path)
    return BuildResult(artifacts)
