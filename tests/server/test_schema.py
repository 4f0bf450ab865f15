"""What OpenAPI promises is kept, whatever is asked (schemathesis)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from resight.server import Collection

from .conftest import Place
from .served import Served, serving

pytestmark = pytest.mark.xdist_group("server")
EXAMPLES = 6  # for each operation and mode
# What random bytes and keys cannot meet: a picture that can be read, a key that is known.
LEFT_OUT = {"positive_data_acceptance", "negative_data_rejection", "missing_required_header"}


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
    schema = schemathesis.openapi.from_dict(running.json("/v1/openapi.json"))
    operations = {result.ok().label: result.ok() for result in schema.get_all_operations()}
    load_all_checks()
    checks = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
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
        def ask(case: Case) -> None:
            asked[case.operation.label] += 1
            case.call_and_validate(base_url=running.url, checks=checks)

        try:
            ask()
        except hypothesis.errors.Unsatisfiable:
            assert mode == GenerationMode.NEGATIVE
    assert running.json("/v1/health")["pictures"] >= 7
    assert len(operations) >= 18
    # Where there are no parameters there are no wrong ones.
    assert sum(count > 0 for count in asked.values()) >= (len(asked) if mode == GenerationMode.POSITIVE else 10)
