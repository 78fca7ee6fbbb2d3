"""One local Ray for all tests that need one: starting it takes seconds."""

import os
from collections.abc import Iterator

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray of this test session's own, with two cores."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
