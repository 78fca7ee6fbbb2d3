"""Messages: nothing secret in them."""

import pytest

from orchestrator.errors import redacted

ADDRESSES = {
    "http://me:hunter2@host:5000/": "http://***@host:5000/",
    "http://me:hun@hunter2@host/": "http://***@host/",
    "http://host/path@hunter": "http://host/path@hunter",
    "postgresql://host/db?user=me&password=hunter2&x=1": "postgresql://host/db?user=me&password=***&x=1",
    "s3://bucket?aws_secret_access_key=hunter2": "s3://bucket?aws_secret_access_key=***",
    "sqlite:///mlflow.db": "sqlite:///mlflow.db",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_shown_without_its_credentials(address: str) -> None:
    assert redacted(f"MLflow at {address} is away") == f"MLflow at {ADDRESSES[address]} is away"
