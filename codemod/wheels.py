"""What `wheel` does: wheels and sdists to patched ones in a folder. Prints nothing."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import CodemodError, Refused, UsageError
from codemod.executors import in_turn
from codemod.model import Exit, Outcome
from codemod.replacing import write_atomically
from codemod.textfile import read_regular, reason, show
from codemod.wheelfile import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from codemod.distribution import Built

MEMBERS = ("jax/_src/clusters/", "jax/_src/cloud_tpu_init.py")  # what is run


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How wheels are to be made; what is given to every process."""

    folder: str
    label: str
    ids: tuple[str, ...]
    patch_folders: tuple[str, ...]
    force: bool
    verify: bool
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of one wheel: the path and hash of the new one where one was made."""

    source: str
    outcome: Outcome
    version: str = ""
    file: str = ""
    sha256: str = ""
    message: str = ""
    patches: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """3 where it was refused or failed."""
        return Exit.REFUSED if self.outcome in (Outcome.REFUSED, Outcome.FAILED) else Exit.OK


def epoch(environ: Mapping[str, str]) -> int | None:
    """SOURCE_DATE_EPOCH as a number; raises UsageError for what is none."""
    text = environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"SOURCE_DATE_EPOCH is {text!r} and not a number of seconds")
    return int(text)


def make(
    wheels: Sequence[Path],
    order: Order,
    *,
    jobs: int = 1,
    done: Callable[[Made], None] = lambda _: None,
) -> list[Made]:
    """Make a patched wheel of each, in `jobs` processes; `done` is told of each in turn.

    One that is refused does not keep the others from being made.
    """
    try:
        Path(order.folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CodemodError(f"{show(order.folder)}: {reason(error)}") from error
    one = partial(_make, order=order)
    made: list[Made] = []
    if jobs == 1 or len(wheels) == 1:
        results: Iterable[Made] = map(one, wheels)
        for each in results:
            done(each)
            made.append(each)
        return made
    with ProcessPoolExecutor(min(jobs, len(wheels))) as pool:
        for each in in_turn(pool, one, wheels):
            done(each)
            made.append(each)
    return made


def _make(path: Path, order: Order) -> Made:
    try:
        return _made(path, order)
    except Refused as error:
        return Made(source=str(path), outcome=Outcome.REFUSED, message=error.why)
    except CodemodError as error:
        return Made(source=str(path), outcome=Outcome.FAILED, message=str(error))


def _made(path: Path, order: Order) -> Made:
    built = _built(path, read_regular(path, LARGEST), order)
    steps = [step for planned in built.plans.values() for step in planned.steps]
    if not built.data:
        fixed = any(step.outcome is Outcome.ALREADY for step in steps)
        outcome = Outcome.ALREADY if fixed else Outcome.NONE
        why = "needs no patch" if fixed else "has no such code"
        return Made(source=str(path), outcome=outcome, version=built.version, message=why)
    target = Path(order.folder) / built.name
    if target.exists() and target.samefile(path):
        raise Refused(f"{show(target)}: would replace what it is made of")
    if order.verify:
        _verify(built)
    write_atomically(str(target), built.data)
    applied = dict.fromkeys(s.patch.id for s in steps if s.outcome is Outcome.APPLIED)
    return Made(
        source=str(path),
        outcome=Outcome.APPLIED,
        version=built.version,
        file=str(target),
        sha256=built.sha256,
        patches=tuple(applied),
        notes=built.notes,
    )


def _built(path: Path, data: bytes, order: Order) -> Built:
    from codemod import sdist, wheel
    from codemod.judging import patches
    from codemod.registry import choose

    chosen = choose(patches(order.patch_folders), order.ids)
    if path.name.endswith(".tar.gz"):
        return sdist.build(data, path.name, chosen, force=order.force)
    return wheel.build(
        data, path.name, chosen, label=order.label, force=order.force, epoch=order.epoch
    )


def _verify(built: Built) -> None:
    """Run what was made, before anybody can take it; raises CodemodError."""
    if objection := _objection(tuple(_files(built))):
        raise CodemodError(f"not proved, and not written: {objection}")


@lru_cache(maxsize=64)
def _objection(files: tuple[tuple[str, bytes], ...]) -> str:
    """What speaks against files when they are run, empty for nothing; the same ones run once."""
    from codemod.distribution import TARGET
    from codemod.siblings import whole
    from codemod.verify import verify_module

    with tempfile.TemporaryDirectory(prefix="codemod-") as folder:
        try:
            for name, content in files:
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        except OSError as error:  # a name that is a file and a folder, or no space
            raise Refused(f"cannot be laid out to be run: {reason(error)}") from error
        file, *beside = whole(Path(folder, TARGET))
        verdict = verify_module(Path(sys.executable), file, beside=beside)
    return "" if verdict.proved else verdict.summary


def _files(built: Built) -> Iterator[tuple[str, bytes]]:
    """What is run of what was made, read from it as others will."""
    from codemod.sdist import SdistFile
    from codemod.wheelfile import WheelFile

    if built.name.endswith(".tar.gz"):
        sdist = SdistFile(built.data)
        yield from ((n, sdist.read(n)) for n in sdist.names if n.startswith(MEMBERS))
        return
    for member in WheelFile(built.data).members:
        if member.name.startswith(MEMBERS) and not member.info.is_dir():
            yield member.name, member.content()
