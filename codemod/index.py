"""What installers take wheels from: lines with hashes, and a folder that is a package index."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from codemod.errors import CodemodError
from codemod.replacing import write_atomically
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.wheels import Made

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta name="pypi:repository-version" content="1.0"><title>{title}</title></head>
<body>
{links}
</body>
</html>
"""


def requirements(made: Sequence[Made]) -> str:
    """A line for each new wheel, as pip and uv take it with `--require-hashes`."""
    return "".join(f"jax=={each.version} --hash=sha256:{each.sha256}\n" for each in made)


def write_index(folder: Path, made: Sequence[Made]) -> None:
    """Write the pages of a simple repository (PEP 503, and PEP 691 as `index.json`).

    Only these wheels are in it. Raises CodemodError.
    """
    project = folder / "jax"
    try:
        project.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CodemodError(f"{show(folder)}: {reason(error)}") from error
    files = [_file(each, project) for each in made]
    links = [
        f'<a href="{html.escape(f["url"])}#sha256={f["hashes"]["sha256"]}">'
        f"{html.escape(f['filename'])}</a><br>"
        for f in files
    ]
    told = {"meta": {"api-version": "1.0"}, "name": "jax", "files": files}
    root = {"meta": {"api-version": "1.0"}, "projects": [{"name": "jax"}]}
    _page(folder, "Simple index", ['<a href="jax/">jax</a>'], root)
    _page(project, "Links for jax", links, told)


def _file(made: Made, project: Path) -> dict[str, Any]:
    real = os.path.realpath(made.file), os.path.realpath(project)  # what `..` of a URL leads to
    relative = os.path.relpath(*real).replace(os.sep, "/")
    name = Path(made.file).name
    return {"filename": name, "url": quote(relative), "hashes": {"sha256": made.sha256}}


def _page(folder: Path, title: str, links: Sequence[str], told: dict[str, Any]) -> None:
    page = PAGE.format(title=title, links="\n".join(links))
    write_atomically(str(folder / "index.html"), page.encode())
    write_atomically(str(folder / "index.json"), json.dumps(told, indent=1).encode() + b"\n")
