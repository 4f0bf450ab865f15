"""What can be set in each measure, as scoring.OPTION. Only the options of the chosen measure are accepted."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import OptionError
from .base import Needs, option
from .stages import ScoringOptions

BY_DENSITY = Needs(option="scoring.weights", among=("density",))


@dataclass(frozen=True, kw_only=True)
class HammingOptions(ScoringOptions):
    """Hamming embedding: features match that share a word and have close signatures (BURST-09)."""

    measure: str = option("hamming", among=("hamming",))

    # Matches farther apart than this many bits are ignored (BURST-09: h_t = 24).
    threshold: int = option(24, least=0, most=64)
    # A match at h bits weighs exp(-h²/sigma²) (BURST-09: 16); a very large value lets all matches weigh alike.
    sigma: float = option(12.0, least=0.1, used_if=Needs(option="scoring.weights", among=("idf",)))
    # A match weighs its word's idf to this power: 2 counts it once on each side; 0 lets all words weigh alike.
    idf_power: float = option(2.0, least=0.0, most=4.0, used_if=Needs(option="scoring.weights", among=("idf",)))
    # Of a query feature's matches in one picture only the closest counts (MMR, BURST-09 §4.1).
    closest_only: bool = option(False)
    # What tames several matches of a query feature in one picture (BURST-09 table 2, rows 1 to 5).
    intra: str = option("root-share", among=("none", "count", "root-count", "root-share", "log-share"))
    # Tame query features that match in many pictures (BURST-09 §4.3).
    inter: bool = option(False)
    # Matches count where they agree on one turn and one change of size (WGC).
    weak_geometry: bool = option(True)
    # A query feature weighs its size to this power; larger ones are more reliable (BURST-09 §3).
    size_power: float = option(0.0, least=0.0, most=2.0)
    # idf: matches weigh by idf and by distance; density: by density ratio (DRE-12); fixed: 1 each.
    weights: str = option("idf", among=("idf", "density", "fixed"))
    # The share of a query's features that an object accounts for (DRE-12: λ).
    mixture: float = option(0.06, least=1e-9, most=0.999, used_if=BY_DENSITY)

    @property
    def ratio_mixture(self) -> float | None:
        return self.mixture if self.weights == "density" else None


@dataclass(frozen=True, kw_only=True)
class KnnOptions(ScoringOptions):
    """k-NN voting: the descriptors nearest to each feature of the query vote for their pictures (DRE-12 §3.3, §3.4)."""

    measure: str = option("knn", among=("knn",))

    # idf: votes weigh by idf; density: by density ratio (DRE-12); fixed: 1 each.
    weights: str = option("idf", among=("idf", "density", "fixed"))
    # The share of a query's features that an object accounts for (DRE-12: λ).
    mixture: float = option(0.06, least=1e-9, most=0.999, used_if=BY_DENSITY)
    # How many of the nearest descriptors vote for each feature; 0: √n of the n that have its word (DRE-12 §3.4).
    nearest: int = option(0, least=0, most=1_000_000)

    @property
    def ratio_mixture(self) -> float | None:
        return self.mixture if self.weights == "density" else None


@dataclass(frozen=True, kw_only=True)
class DensityOptions(ScoringOptions):
    """Bag of words, scored by density ratio (DRE-12)."""

    measure: str = option("density", among=("density",))

    # The share of a query's features that an object accounts for (DRE-12: λ).
    mixture: float = option(0.06, least=1e-9, most=0.999)

    @property
    def ratio_mixture(self) -> float:
        return self.mixture


@dataclass(frozen=True, kw_only=True)
class L1Options(ScoringOptions):
    """Bag of words: tf-idf vectors of unit L1 norm (CDM-10)."""

    measure: str = option("l1", among=("l1",))


@dataclass(frozen=True, kw_only=True)
class L2Options(ScoringOptions):
    """Bag of words: tf-idf vectors of unit L2 norm."""

    measure: str = option("l2", among=("l2",))


@dataclass(frozen=True, kw_only=True)
class TfOptions(ScoringOptions):
    """Bag of words: every shared word is a vote."""

    measure: str = option("tf", among=("tf",))


@dataclass(frozen=True, kw_only=True)
class TfIdfOptions(ScoringOptions):
    """Bag of words: every shared word is a vote, weighed by idf."""

    measure: str = option("tf-idf", among=("tf-idf",))


@dataclass(frozen=True, kw_only=True)
class CosineOptions(ScoringOptions):
    """Bag of words: cosine weighed by idf² (LEARN-14 eq. 1)."""

    measure: str = option("cosine", among=("cosine",))


@dataclass(frozen=True, kw_only=True)
class BurstOptions(ScoringOptions):
    """Bag of words: counts tamed within a picture and over all (LEARN-14 eq. 3)."""

    measure: str = option("burst", among=("burst",))


@dataclass(frozen=True, kw_only=True)
class NegativeOptions(ScoringOptions):
    """Bag of words: cosine, less the mean picture, so that what both lack counts (LEARN-14 §2)."""

    measure: str = option("negative", among=("negative",))

    # This many times the mean picture is taken off both sides (LEARN-14 §2: β); 0 is the measure cosine.
    beta: float = option(0.1, least=0.0, most=10.0)


@dataclass(frozen=True, kw_only=True)
class AsymmetricOptions(ScoringOptions):
    """Bag of words: what the query has weighs more than what only the picture has (LEARN-14 §2)."""

    measure: str = option("asymmetric", among=("asymmetric",))

    # Differences of counts are raised to this power (LEARN-14 §2: p).
    power: int = option(1, least=1, most=2)
    # What a query has and a picture lacks weighs α · (features of all pictures) / (those in common with the query) − 1,
    # never less than 0 (LEARN-14 §2: λ, defined for power 1 and used for both).
    alpha: float = option(0.8, least=0.0, most=1e6)


@dataclass(frozen=True, kw_only=True)
class LearntOptions(ScoringOptions):
    """Bag of words: a similarity learnt from groups of pictures (LEARN-14 §3)."""

    measure: str = option("learnt", among=("learnt",))


MEASURE_OPTIONS: dict[str, type[ScoringOptions]] = {kind.measure: kind for kind in ScoringOptions.__subclasses__()}


def measure_options(measure: str) -> type[ScoringOptions]:
    """The class of a measure's options."""
    try:
        return MEASURE_OPTIONS[measure]
    except KeyError:
        raise OptionError(f"unknown measure {measure!r}; known: {', '.join(sorted(MEASURE_OPTIONS))}") from None


def scoring_options(measure: str, **values: object) -> ScoringOptions:
    """The options of the measure of this name."""
    return measure_options(measure)(measure=measure, **values)
