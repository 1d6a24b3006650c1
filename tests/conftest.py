"""Options and settings for all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

from tests.places import conda, pristine_venv, venv

if TYPE_CHECKING:
    import pytest

__all__ = ["conda", "pristine_venv", "venv"]  # fixtures

settings.register_profile(
    "project", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--jax",
        metavar="TARGET",
        default=None,
        help="run test_no_metadata_requests.py on this jax instead of all releases",
    )
