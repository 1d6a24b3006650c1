"""URLs of repositories as people write them, made comparable."""

from __future__ import annotations

import re

OLD_HOMES = {"github.com/google/jax": "github.com/jax-ml/jax"}  # the same repository, moved
# The ways in which the large forges name an archive of a revision.
ARCHIVE = (
    r"^(?P<repo>https?://[^/]+/.+?)(?:/-)?/(?:archive|tarball|zipball|zip|tar\.gz)/"
    r"(?:refs/(?:heads|tags)/)?(?P<ref>.+?)(?:/[^/]+)?(?:\.zip|\.tar\.gz|\.tgz|\.tar\.bz2)?$"
)


def repository(url: str) -> str:
    """A name that is the same for all spellings of the URL of one repository."""
    plain = url.strip().casefold().removeprefix("git+").partition("#")[0].partition("?")[0]
    if scp := re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", plain):  # git@host:org/repo
        plain = f"{scp[1]}/{scp[2]}"
    plain = re.sub(r"^[a-z+]+://(?:[^@/]+@)?(?:www\.|codeload\.)?", "", plain)
    plain = re.sub(r"^([^:/]+):\d+/", r"\1/", plain)
    plain = re.sub(r"/+", "/", plain).rstrip("/").removesuffix(".git")
    return OLD_HOMES.get(plain, plain)


def archived(url: str) -> tuple[str, str] | None:
    """The repository and the revision that the URL of an archive names, if it is one of those."""
    found = re.match(ARCHIVE, url.partition("#")[0].partition("?")[0])
    return (found["repo"], found["ref"]) if found else None
