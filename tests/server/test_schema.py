"""What OpenAPI promises is kept, whatever is asked (schemathesis)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import Case, GenerationMode
from schemathesis.checks import positive_data_acceptance
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok

from resight.server import Collection

from .conftest import Place
from .served import Served, serving

EXAMPLES = 6  # for each operation and mode
# What random bytes and keys cannot meet: a picture that can be read, a key that is known.
LEFT_OUT = [positive_data_acceptance]
# How wrong parameters may be refused; some are so long that the whole address is.
REJECTED = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 413, 414, 415, 422]}}}
)


@pytest.fixture(scope="module")
def running(small: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With an index of its own: some of the pictures that are made up can be read, and are added."""
    place = tmp_path_factory.mktemp("schema") / "copy.resight"
    shutil.copytree(small.index, place)
    collection = Collection(place)
    with serving(collection) as served:
        yield served
    collection.close()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_are_as_promised(running: Served, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(running.json("/v1/openapi.json"), config=REJECTED)
    operations = {found.ok().label: found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)}
    asked = dict.fromkeys(operations, 0)
    for operation in operations.values():

        @hypothesis.settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Case[Any]) -> None:
            asked[case.operation.label] += 1
            case.call_and_validate(base_url=running.url, excluded_checks=LEFT_OUT)

        try:
            ask()
        except hypothesis.errors.Unsatisfiable:
            assert mode == GenerationMode.NEGATIVE
    assert running.json("/v1/health")["pictures"] >= 7
    assert len(operations) >= 18
    # Where there are no parameters there are no wrong ones.
    assert sum(count > 0 for count in asked.values()) >= (len(asked) if mode == GenerationMode.POSITIVE else 10)
