"""Versions as poetry and conda write them, as the specifier sets of PEP 440."""

from __future__ import annotations

import re

OPERATORS = r"(===|==|~=|!=|>=|<=|>|<|\^|~|=|)\s*"
RELEASE = r"v?(\d+(?:\.\d+)*)"


def of_poetry(text: str) -> str | None:
    """The specifier set of a constraint of poetry; None for one that has no such form.

    A bare version is exact, `^` and `~` are the ranges of
    https://python-poetry.org/docs/dependency-specification/#version-constraints.
    """
    parts = [part for part in re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[<>=!~^])", text.strip()) if part]
    found = [_of_poetry(part) for part in parts if part != "*"]
    return None if None in found or "|" in text else ",".join(filter(None, found))


def _of_poetry(part: str) -> str | None:
    match = re.fullmatch(OPERATORS + r"(\S+)", part)
    if match is None:
        return None
    operator, version = match.groups()
    if operator in ("^", "~"):
        return _bounded(operator, version)
    return f"{'==' if operator in ('', '=') else operator}{version}"


def _bounded(operator: str, version: str) -> str | None:
    """The range up to the next version that `^` or `~` does not allow."""
    release = re.match(RELEASE, version)
    if release is None:
        return None
    numbers = [int(number) for number in release[1].split(".")]
    kept = 1 if operator == "^" else 2
    if operator == "^":  # up to and with the first that is not zero
        kept = next((at for at, number in enumerate(numbers, 1) if number), len(numbers))
    upper = [*numbers[:kept][:-1], numbers[:kept][-1] + 1]
    return f">={version},<{'.'.join(map(str, upper))}"


def of_conda(text: str) -> str | None:
    """The specifier set of a version of a match specification; None for one without such a form.

    A version alone is exact, and after one `=` it is a prefix:
    https://docs.conda.io/projects/conda/en/latest/user-guide/concepts/pkg-specs.html.
    """
    parts = [part.strip() for part in text.split(",") if part.strip() not in ("", "*")]
    found = [_of_conda(part) for part in parts]
    return None if None in found or "|" in text else ",".join(filter(None, found))


def _of_conda(part: str) -> str | None:
    match = re.fullmatch(r"(==|~=|!=|>=|<=|>|<|=|)\s*([0-9][0-9A-Za-z.!+_]*?)(\.?\*)?", part)
    if match is None:
        return None
    operator, version, star = match.groups()
    if operator == "=" or (star and operator == ""):
        return f"=={version}.*"
    return f"{operator or '=='}{version}{'.*' if star and operator in ('==', '!=') else ''}"
