"""Where a folder of packages leads to beyond itself: `.pth` files, editable installs, archives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.textfile import read_regular, show

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMBER = "jax/_src/clusters/cloud_tpu_cluster.py"
LAYOUTS = ("", "src")  # where a project keeps its packages


def added_to(site: Path) -> Iterator[Path]:
    """The folders that the `.pth` files of a folder of packages add to the import path.

    The rules are those of Python's `site`: a line that begins with `import` is code, and that
    is not run here.
    """
    for path in sorted(site.glob("*.pth")):
        for line in _text(path).splitlines():
            named = line.strip()
            if named and not named.startswith(("#", "import ", "import\t")):
                folder = site / named
                if folder.is_dir():
                    yield folder


def editable(site: Path) -> Iterator[tuple[Path, Path]]:
    """The sources of an editable jax: the folder that holds its package, and what names it.

    That is `direct_url.json` (PEP 610), which every installer writes for one.
    """
    for path in sorted(site.glob("jax-*.dist-info/direct_url.json")):
        project = _project(_text(path))
        for layout in LAYOUTS if project else ():
            if project and (project / layout / "jax" / "__init__.py").is_file():
                yield project / layout, path


def _project(text: str) -> Path | None:
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = json.loads(text)
        url = urlsplit(told["url"])
        if url.scheme != "file" or told["dir_info"].get("editable") is not True:
            return None
        return Path(url2pathname(url.path))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def archived(entry: Path) -> str:
    """What to say of an entry of the import path that is an archive with a jax in it, or ""."""
    import zipfile

    try:
        if not entry.is_file() or not zipfile.is_zipfile(entry):
            return ""
        with zipfile.ZipFile(entry) as archive:
            if MEMBER not in archive.namelist():
                return ""
    except (OSError, ValueError, zipfile.BadZipFile):
        return ""
    return f"{show(entry)}: holds a jax that cannot be edited in place: unpack it"


def _text(path: Path) -> str:
    try:
        return read_regular(path).decode("utf-8-sig", "surrogateescape")
    except Refused:
        return ""
