"""Counts in the text form that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

LIMITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


class Metrics:
    """Of the requests so far. Used from one event loop."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._histogram: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(LIMITS) + 1))
        self._seconds: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        self._histogram[route][bisect_left(LIMITS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter of floats

    def text(self, **gauges: int) -> str:
        """All of it, and these numbers as they are now."""
        lines = ["# TYPE resight_requests_total counter"]
        for (method, route, status), count in sorted(self._requests.items()):
            lines.append(f'resight_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE resight_request_seconds histogram")
        for route, counts in sorted(self._histogram.items()):
            for limit, below in zip((*map(str, LIMITS), "+Inf"), accumulate(counts), strict=True):
                lines.append(f'resight_request_seconds_bucket{{route="{route}",le="{limit}"}} {below}')
            lines.append(f'resight_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'resight_request_seconds_count{{route="{route}"}} {sum(counts)}')
        for name, value in gauges.items():
            lines += [f"# TYPE resight_{name} gauge", f"resight_{name} {value}"]
        return "\n".join(lines) + "\n"
