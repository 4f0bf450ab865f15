"""What OpenAPI promises is kept, whatever is asked (schemathesis)."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from .served import Served, serving

pytestmark = pytest.mark.xdist_group("server")
EXAMPLES = 6  # for each operation and mode
# What random bytes and keys cannot meet: a picture that can be read, a key that is known.
LEFT_OUT = {"positive_data_acceptance", "negative_data_rejection", "missing_required_header"}


@pytest.fixture(scope="module")
def operations(served: Served) -> dict[str, Any]:
    schema = schemathesis.openapi.from_dict(served.json("/v1/openapi.json"))
    return {result.ok().label: result.ok() for result in schema.get_all_operations()}


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_are_as_promised(served: Served, operations: dict[str, Any], mode: GenerationMode) -> None:
    load_all_checks()
    checks = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
    asked = dict.fromkeys(operations, 0)
    with serving(served.collection) as running:  # its own, for it may look for duplicates
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
                assert mode == GenerationMode.NEGATIVE  # there are no wrong values where there are no parameters
        assert running.json("/v1/health")["pictures"] == 7
    assert len(operations) >= 18
    assert min(count for label, count in asked.items() if "{" in label or mode == GenerationMode.POSITIVE) > 0
