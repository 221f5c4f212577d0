"""Each kernel of which texts were recorded."""

import pytest


@pytest.fixture(scope="session", params=["2.6.32", "3.10", "4.18", "5.10", "5.10.262", "6.12.107", "6.18"])
def kernel(request: pytest.FixtureRequest) -> str:
    version: str = request.param
    return version
