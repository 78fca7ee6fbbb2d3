"""A local store and a server on it, made once: MLflow's migrations take seconds."""

from collections.abc import Iterator

import pytest
from servers import MlflowServer, mlflow_server

from orchestrator.tracking.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store that is ready."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"
    Store.open(uri)
    return uri


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, store: str) -> Iterator[MlflowServer]:
    """A server on that store."""
    with mlflow_server(store, tmp_path_factory.mktemp("server")) as running:
        yield running
