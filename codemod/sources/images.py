"""Copies in container images: OCI layouts and archives of `docker save`, layer by layer.

What a container sees of a file is the copy in the topmost layer that has it, unless a layer
above takes it away: a whiteout `.wh.NAME` takes one name, `.wh..wh..opq` all that lower layers
have in a folder, and what is no folder takes a folder of lower layers (the image-spec, layer.md).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from codemod.errors import Refused
from codemod.sources.parts import copies, is_part
from codemod.sources.stores import Archive, Folder
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from tarfile import TarInfo

    from codemod.sources.model import Held, Unit
    from codemod.sources.stores import Store


WHITEOUT, OPAQUE = ".wh.", ".wh..wh..opq"
INDEX, MANIFEST = "index.json", "manifest.json"
DIGEST = r"[a-z0-9+._-]+:[0-9a-f]{32,128}"
INFO = r"^((?:.*/)?jax-([^/]+)\.dist-info)/METADATA$"
MANY = 10_000  # layers of one image, and images of one layout
LINKS = 40  # as many as Linux follows


class _Link(NamedTuple):
    target: str


Content = bytes | str | _Link  # of a text, why there is no content
Files = dict[str, Content]


def in_image(unit: Unit) -> Iterable[Held]:
    """The copies in all images of a layout or an archive; raises Refused where it is none."""
    store = Folder(unit.path) if Path(unit.path).is_dir() else Archive(unit.path)
    with store:
        found = list(_images(store))
        for name, layers in found:
            files: Files = {}
            for layer in layers:
                files = _with_layer(store, layer, files)
            yield from _copies(files, unit.path + (f"!/{name}" if len(found) > 1 else ""))


def is_image(path: str) -> bool:
    """Whether a tar that is not compressed has what an image has at its top."""
    try:
        with Archive(path) as archive:
            return archive.has(MANIFEST) or archive.has(INDEX)
    except Refused:
        return False


def _images(store: Store) -> Iterator[tuple[str, list[str]]]:
    """The images with a name for people, and the names of their layers, the lowest first."""
    if store.has(INDEX):
        yield from _of_index(store, store.document(INDEX), depth=0)
        return
    for number, image in enumerate(_list(store.document(MANIFEST))):
        tags = _list(_dict(image).get("RepoTags"))
        yield str((tags or [number])[0]), [str(name) for name in _list(_dict(image).get("Layers"))]


def _of_index(store: Store, index: Any, depth: int) -> Iterator[tuple[str, list[str]]]:
    """The images of an index, which may name others, such as one for each platform."""
    if depth > 3:
        raise Refused("the index of the image is nested too deeply")
    for entry in _list(_dict(index).get("manifests")):
        digest = str(_dict(entry).get("digest"))
        held = _dict(store.document(_blob(digest)))
        if "manifests" in held:
            yield from _of_index(store, held, depth + 1)
            continue
        layers = [_dict(layer) for layer in _list(held.get("layers"))]
        tars = [layer for layer in layers if ".tar" in str(layer.get("mediaType"))]  # not a note
        if tars:
            notes = _dict(_dict(entry).get("annotations") or {})
            name = str(notes.get("org.opencontainers.image.ref.name", digest[:19]))
            yield name, [_blob(str(layer.get("digest"))) for layer in tars]


def _blob(digest: str) -> str:
    if not re.fullmatch(DIGEST, digest):
        raise Refused(f"the image names {show(digest[:80])}, which is no digest")
    return "blobs/" + digest.replace(":", "/")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MANY:
        raise Refused("the image has a document that is not as its standard says")
    return value


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("the image has a document that is not as its standard says")
    return value


def _with_layer(store: Store, name: str, lower: Files) -> Files:
    """The files in question once a layer lies upon those below it."""
    above = {parent for path in lower for parent in _parents(path)}
    gone: set[str] = set()
    opaque: set[str] = set()
    added: Files = {}
    for member, read in store.layer(name):
        path = posixpath.normpath("/" + member.name)[1:]
        folder, base = posixpath.split(path)
        if base == OPAQUE:
            opaque.add(folder)
        elif base.startswith(WHITEOUT):
            gone.add(posixpath.join(folder, base.removeprefix(WHITEOUT)))
        elif not member.isdir() and (is_part(path) or re.search(INFO, path)):
            added[path] = _content(member, read, added)
        if path in above and not member.isdir():
            gone.add(path)  # it was a folder, and is none any more
        elif path in lower:
            gone.add(path)
    kept = {p: c for p, c in lower.items() if not _is_gone(p, gone, opaque)}
    return kept | added


def _parents(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path


def _is_gone(path: str, gone: set[str], opaque: set[str]) -> bool:
    return path in gone or any(parent in gone or parent in opaque for parent in _parents(path))


def _content(member: TarInfo, read: Callable[[], bytes | str], layer: Files) -> Content:
    if member.isreg():
        return read()
    if member.issym():
        return _Link(member.linkname)
    if member.islnk():
        target = posixpath.normpath("/" + member.linkname)[1:]
        return layer.get(target, f"a hard link to {show(target)}, which was not read")
    return "is no regular file in the image"


def _copies(files: Files, label: str) -> Iterable[Held]:
    infos = {posixpath.dirname(found[1]): found[2] for p in files if (found := re.search(INFO, p))}
    parts = {path: _resolved(path, files) for path in files if is_part(path)}
    return copies(parts, lambda p: infos.get(posixpath.dirname(p)), f"{label}!/")


def _resolved(path: str, files: Files) -> bytes | str:
    """What a file holds, through links; what they lead to was read only if it is such a file."""
    for _ in range(LINKS):
        found = files.get(path, f"a link to /{show(path)}, which was not read")
        if not isinstance(found, _Link):
            return found
        path = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), found.target))[1:]
    return "is a loop of links"
