"""Who does the work of an audit: this process, others on this machine, or a Dask cluster."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from codemod.errors import CodemodError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 3  # of a piece of work whose worker was lost


def in_turn(executor: Executor, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """What the work gives for each item, in their order; `work` and items must be picklable.

    Where processes of the executor are killed, as where memory runs out, the rest is done here.
    """
    futures = [(item, _submitted(executor, work, item)) for item in items]
    for item, future in futures:
        try:
            result = work(item) if future is None else future.result()
        except BrokenExecutor:
            result = work(item)
        yield result


def _submitted(executor: Executor, work: Callable[[T], R], item: T) -> Future[R] | None:
    try:
        return executor.submit(work, item)
    except BrokenExecutor:
        return None


@contextmanager
def executor(jobs: int, dask: str | None) -> Iterator[Executor | None]:
    """An executor, None for this process. Raises UsageError where Dask is not installed, and
    CodemodError where there is no scheduler at that address."""
    if dask is not None:
        with _dask(dask) as found:
            yield found
    elif jobs > 1:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(jobs) as pool:
            yield pool
    else:
        yield None


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--dask needs: pip install 'jax-codemod[dask]'") from error
    try:
        client: Any = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise CodemodError(f"no Dask scheduler at {address}: {error}") from error
    with client, client.get_executor(retries=RETRIES) as found:
        yield found
