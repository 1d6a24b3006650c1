"""Which wheels and sdists the arguments of `wheel` mean; what has to be fetched is fetched."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from codemod.download import download
from codemod.errors import CodemodError, Refused, UsageError
from codemod.replacing import write_atomically
from codemod.textfile import read_regular, show
from codemod.wheelfile import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from codemod.pins.model import Pin

DISTRIBUTIONS = ("jax-*.whl", "jax-*.tar.gz")
FILES = (".whl", ".tar.gz", ".zip")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where fetched wheels are kept, by the XDG base directory rules."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")  # noqa: PTH111, PTH118
    return Path(base) / "jax-codemod" / "wheels"


def find(sources: Iterable[str], lists: Iterable[str], cache: Path) -> list[Path]:
    """What is named, what is in named folders, and what requirements ask for, fetched.

    `lists` are files of requirements, or other pin files. Raises UsageError for what is none of
    these and for a pin that is not of one version, CodemodError where one cannot be fetched.
    """
    found = [path for source in sources for path in _meant(source, cache)]
    found += [path for name in lists for path in _asked(name, cache)]
    return list(dict.fromkeys(found))


def _meant(source: str, cache: Path) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        inside = sorted(found for names in DISTRIBUTIONS for found in path.glob(names))
        if not inside:
            raise UsageError(f"{show(source)}: no wheel or sdist of jax in this folder")
        return inside
    if path.exists() or source.endswith(FILES):
        return [path]
    return [_fetched(_version(source), cache, source)]


def _version(text: str) -> str:
    """The one version that a requirement such as `jax[tpu]==0.8.0` asks for."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{show(text)}: neither a file, a folder nor a requirement") from error
    exact = [s.version for s in wanted.specifier if s.operator == "==" and "*" not in s.version]
    if wanted.name.lower() != "jax" or wanted.url or len(exact) != 1:
        raise UsageError(f"{show(text)}: name one version, such as jax==0.8.0")
    return exact[0]


def _asked(name: str, cache: Path) -> list[Path]:
    found = [*_listed(Path(name), cache, set())]
    if not found:
        raise UsageError(f"{show(name)}: pins no jax")
    return found


def _listed(path: Path, cache: Path, seen: set[Path]) -> Iterator[Path]:
    """The wheels of the pins of a file and of those that it includes."""
    from codemod.pinned import pins_of

    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    try:
        pins = pins_of(str(path))
    except Refused as error:
        raise UsageError(f"{show(path)}: {error.why}") from error
    for part in pins.unread:
        raise UsageError(f"{show(path)}:{part.line or 1}: {part.why}")
    for pin in pins.rows:
        yield _of_pin(pin, f"{path}:{pin.line}", cache)
    for follow in pins.follows:
        yield from _listed(path.parent / follow.target, cache, seen)


def _of_pin(pin: Pin, place: str, cache: Path) -> Path:
    from codemod.fixes import exact
    from codemod.pins.model import SourceKind

    version = exact(pin.specifier)
    if pin.source.kind is not SourceKind.REGISTRY or version is None:
        raise UsageError(f"{show(place)}: {show(pin.text)}: is not one version of an index")
    wheel = _fetched(version, cache, place)
    digest = sha256(read_regular(wheel, LARGEST)).hexdigest()
    known = [each.removeprefix("sha256:") for each in pin.hashes if each.startswith("sha256:")]
    if pin.hashes and digest not in known:
        raise CodemodError(f"{show(place)}: {wheel.name} has none of the hashes of the pin")
    return wheel


def _fetched(version: str, cache: Path, asked: str) -> Path:
    """The wheel that pip takes for a version; `asked` is who asks for it, for people."""
    held = cache / f"jax-{version}-py3-none-any.whl"
    if held.is_file():
        return held
    with tempfile.TemporaryDirectory(prefix="codemod-") as folder:
        try:
            wheel = download(f"jax=={version}", Path(folder))
        except Refused as error:
            raise CodemodError(f"{show(asked)}: {error.why}") from error
        cache.mkdir(parents=True, exist_ok=True)
        write_atomically(str(cache / wheel.name), read_regular(wheel, LARGEST))
        return cache / wheel.name
