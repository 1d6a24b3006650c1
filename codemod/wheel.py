"""A patched wheel of a wheel: bytes in, bytes out, the same for the same input everywhere.

The name and version rules are those of the binary distribution format and of PEP 440: what was
patched is told by a local version, so that `==0.8.0` still takes it and prefers it.
"""

from __future__ import annotations

import re
import time
from hashlib import sha256
from typing import TYPE_CHECKING

from codemod.distribution import Built, plans_of
from codemod.errors import Refused
from codemod.model import Outcome
from codemod.textfile import show, unified_diff
from codemod.wheelfile import SIGNATURES, WheelFile, member, renamed, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.engine import Plan
    from codemod.model import Patch

LABEL = "skipmds.1"  # the series of patches and its revision
SBOM = "sboms/codemod.cdx.json"  # in the dist-info (PEP 770)
LATEST = 4354819198  # the last second, an even one, that an archive can tell
VERSION = rb"(?m)^(Version:[ \t]*)(\S+)([ \t]*\r?)$"
NAME = rb"(?mi)^Name:[ \t]*(\S+)[ \t]*\r?$"


def build(
    data: bytes,
    name: str,
    patches: Sequence[Patch],
    *,
    label: str = LABEL,
    force: bool = False,
    epoch: int | None = None,
) -> Built:
    """The patched wheel of a wheel of jax, whose file is called `name`.

    `label` is the local version, joined to one that is there. With `force` a wheel that needs
    no patch is made anew too. `epoch` is the time in seconds since 1970 that new members get;
    without it they have that of the member that they replace. Raises Refused for what is no
    sound wheel of jax, and where a patch cannot be applied or proved.
    """
    wheel = WheelFile(data)
    plans = plans_of(wheel.by_name, wheel.read, patches)
    old = _checked_version(wheel, name)
    if not force and not any(each.changes for each in plans.values()):
        return Built(name=name, version=old, data=b"", plans=plans)
    new = old + ("." if "+" in old else "+") + label
    making = _Making(wheel, old, new, None if epoch is None else _date(epoch))
    for path, each in plans.items():
        if each.changes:
            making.put(path, each.after)
    making.put(f"{wheel.dist_info}/METADATA", _metadata(wheel, new))
    making.add(SBOM, _sbom(wheel, name, new, plans, making.when))
    return Built(
        name=name.replace(f"jax-{old}-", f"jax-{new}-", 1),
        version=new,
        data=making.archive(),
        plans=plans,
        notes=tuple(f"{name}: {end} is void now, and left out" for end in making.void),
    )


def _checked_version(wheel: WheelFile, name: str) -> str:
    """The version of a wheel of jax, which its file name, METADATA and dist-info agree on."""
    head = re.split(rb"\r?\n\r?\n", wheel.read(f"{wheel.dist_info}/METADATA"), maxsplit=1)[0]
    names, versions = re.findall(NAME, head), re.findall(VERSION, head)
    if [each.lower() for each in names] != [b"jax"] or len(versions) != 1:
        raise Refused("METADATA is not that of one version of jax")
    version = str(versions[0][1], "ascii", "replace")
    if wheel.dist_info != f"jax-{version}.dist-info" or not name.startswith(f"jax-{version}-"):
        raise Refused(f"name, {show(wheel.dist_info)} and METADATA ({version}) disagree")
    return version


def _metadata(wheel: WheelFile, version: str) -> bytes:
    content = wheel.read(f"{wheel.dist_info}/METADATA")
    return re.sub(VERSION, rb"\g<1>" + version.encode() + rb"\g<3>", content, count=1)


def _date(epoch: int) -> tuple[int, ...]:
    """The time of a member, from 1980 to 2107 and without a zone."""
    return max(time.gmtime(min(epoch, LATEST))[:6], (1980, 1, 1, 0, 0, 0))


class _Making:
    """The members of the new wheel: those of the old one under new names, some with new content."""

    def __init__(self, wheel: WheelFile, old: str, new: str, when: tuple[int, ...] | None) -> None:
        self._wheel, self._when = wheel, when
        self._folders = {f"jax-{old}.{end}": f"jax-{new}.{end}" for end in ("dist-info", "data")}
        self._info = self._folders[wheel.dist_info]
        signed = [f"{wheel.dist_info}/{end}" for end in SIGNATURES]
        self.void = [name.rpartition("/")[2] for name in signed if name in wheel.by_name]
        gone = {f"{wheel.dist_info}/RECORD", *signed}
        self._members = {
            each.name: renamed(each, self._renamed(each.name))
            for each in wheel.members
            if each.name not in gone
        }
        self._fresh: dict[str, bytes] = {}
        self._template = wheel.by_name[f"{wheel.dist_info}/METADATA"].info
        self.when = when or self._template.date_time

    def put(self, name: str, content: bytes) -> None:
        """Give a member of the old wheel a new content."""
        new = self._renamed(name)
        like = self._members[name].info
        self._members[name] = member(new, content, like, self._when)
        self._fresh[new] = content

    def add(self, name: str, content: bytes) -> None:
        """Add a member to the dist-info; one of that name, of an earlier run, is replaced."""
        new = f"{self._info}/{name}"
        self._members.pop(f"{self._wheel.dist_info}/{name}", None)
        self._members[new] = member(new, content, self._template, self._when)
        self._fresh[new] = content

    def archive(self) -> bytes:
        """The wheel: the dist-info after all else, and RECORD last of all."""
        ordered = sorted(self._members.values(), key=lambda m: m.name.startswith(self._info))
        name = f"{self._info}/RECORD"
        old = self._wheel.by_name[f"{self._wheel.dist_info}/RECORD"].info
        ordered.append(member(name, self._record(), old, self._when))
        return written(ordered, self._wheel.comment)

    def _record(self) -> bytes:
        record = self._wheel.record
        for name in (f"{self._wheel.dist_info}/{end}" for end in SIGNATURES):
            record.drop(name)
        record.rename(self._renamed)
        for name, content in self._fresh.items():
            if record.of(name):
                record.update(name, content)
            else:
                record.insert(name, content)
        return bytes(record)

    def _renamed(self, name: str) -> str:
        folder, slash, rest = name.partition("/")
        return self._folders.get(folder, folder) + slash + rest


def _sbom(
    wheel: WheelFile, name: str, version: str, plans: dict[str, Plan], when: tuple[int, ...]
) -> bytes:
    from codemod.sbom import sbom

    return sbom(
        ancestor=name,
        ancestor_sha256=sha256(wheel.data).hexdigest(),
        version=version,
        patches=_diffs(plans),
        when=when,
    )


def _diffs(plans: dict[str, Plan]) -> list[tuple[Patch, str]]:
    """Each patch that was applied, with what it alone changes after those before it."""
    found: dict[str, tuple[Patch, str]] = {}
    for path, each in plans.items():
        content = each.before
        for step in each.steps:
            if step.outcome is Outcome.APPLIED:
                diff = unified_diff(content, step.after, path).decode("utf-8", "backslashreplace")
                found[step.patch.id] = step.patch, found.get(step.patch.id, ("", ""))[1] + diff
            content = step.after
    return [*found.values()]
