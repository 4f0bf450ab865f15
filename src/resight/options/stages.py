"""What can be set in each stage. Of scoring, ``measures`` has the rest: each measure has options of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ..errors import OptionError
from .base import Needs, Options, names, option

MOST_WORDS = 1_000_000
# For FeatureOptions.detector where another program finds the features, with scale and angle or as positions alone.
GIVEN, GIVEN_POINTS = "given", "given-points"
LEAST_FEATURES = 400  # that a picture keeps when an index is shrunk, if it has as many, though links confirm fewer


@dataclass(frozen=True, kw_only=True)
class ImageOptions(Options):
    """Reading pictures."""

    stage: ClassVar[str] = "images"

    # A picture with more pixels than this is refused before it is decoded (decompression bombs).
    max_pixels: int = option(200_000_000, least=1)
    # A file with more bytes than this is refused before it is read.
    max_bytes: int = option(1_000_000_000, least=1)


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(Options):
    """Picture → local features. Part of an index's identity."""

    stage: ClassVar[str] = "features"

    # Name in the registry of resight.features; given, given-points: features come from another program, with scale and
    # angle or as positions alone, and the options below do not matter.
    detector: str = option("hessian-affine")
    # Pictures are reduced so that the longest side is at most this many pixels; they are never enlarged.
    max_side: int = option(1024, least=16, most=65535)
    # The strongest features by detector response are kept, at most this many.
    max_features: int = option(2350, least=1, most=100_000)
    # Least contrast of a keypoint; lower finds more and weaker ones.
    contrast: float = option(0.004, least=0.0, most=1.0)
    # Pictures are taken upright: hessian-affine looks for no dominant directions, vertical stays vertical.
    upright: bool = option(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.upright and self.detector != "hessian-affine":
            raise OptionError(f"upright is an option of the detector hessian-affine, not of {self.detector}")


@dataclass(frozen=True, kw_only=True)
class IndexingOptions(Options):
    """Features → words of indexed pictures. Part of an index's identity."""

    stage: ClassVar[str] = "indexing"

    # Nearest words that each feature gets (CDM-10, multiple assignment: 2 or 3, and as many in the query).
    words: int = option(1, least=1, most=10)
    # Kept of a descriptor besides word and signature: nothing; codes: as vocabulary.codes says; descriptors: all of it.
    keep: str = option("nothing", among=("nothing", "codes", "descriptors"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep != "nothing" and self.words > 1:  # it would be among a query's neighbours several times
            raise OptionError(f"{self.keep} are kept of features with one word each, not {self.words}")


@dataclass(frozen=True, kw_only=True)
class VocabularyOptions(Options):
    """Descriptors → trained vocabulary."""

    stage: ClassVar[str] = "vocabulary"

    # Number of visual words, of each vocabulary.
    words: int = option(16_384, least=1, most=MOST_WORDS)
    # Rounds of k-means.
    iterations: int = option(12, least=1)
    # Descriptors drawn for training, for each vocabulary; at least a few tens per word are wanted.
    sample: int = option(1_000_000, least=1)
    # Seed of the sample, the starting centroids and the Hamming projection.
    seed: int = option(1, least=0)
    # Children of each node of a vocabulary tree, whose leaves are the words (CDM-10 table III #1); 0: no tree.
    branching: int = option(0, least=0)
    # Dimensions that descriptors are reduced to before words are looked for (CDM-10 table III #3: 36); 0: all.
    pca: int = option(0, least=0)
    # Independent vocabularies, each from a sample of its own (CDM-10 table IV); a feature has words in each.
    vocabularies: int = option(1, least=1, most=100)
    # Bytes of the product-quantiser codes that it can make of descriptors, for indexing.keep (DRE-12: 8); 0: none.
    codes: int = option(0, least=0, most=64)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.codes and self.pca:
            raise OptionError(f"codes are of whole descriptors, not of descriptors reduced to {self.pca} dimensions")
        if self.codes and self.vocabularies > 1:
            raise OptionError(f"codes refer to the words of one vocabulary, not of {self.vocabularies}")
        if self.branching == 1:
            raise OptionError("option 'branching' must be 0 (no tree) or at least 2, not 1")
        if self.branching and self.vocabularies > 1:
            raise OptionError(f"a tree (branching {self.branching}) cannot be one of {self.vocabularies} vocabularies")
        if self.branching and self.words != self.branching**self.levels:
            raise OptionError(
                f"option 'words' must be a power of branching, {self.branching}, not {self.words}; "
                f"the nearest is {self.branching**self.levels}"
            )

    @property
    def levels(self) -> int:
        """Of a tree, below its root: those that come nearest to the number of words."""
        possible = (levels for levels in range(1, 20) if self.branching**levels <= MOST_WORDS)
        return min(possible, key=lambda levels: abs(self.branching**levels - self.words), default=1)


@dataclass(frozen=True, kw_only=True)
class AssignOptions(Options):
    """Query descriptors → words."""

    stage: ClassVar[str] = "assign"

    # Nearest words considered for each query descriptor (BURST-09: 10).
    neighbours: int = option(10, least=1, most=100, used_if=Needs(option="assign.climb", among=(0,)))
    # Words farther than this many times the nearest word's distance are dropped (BURST-09 §2.3: 1.2).
    ratio: float = option(1.2, least=1.0, used_if=Needs(option="assign.neighbours", least=2))
    # Trees: words that share an ancestor this many levels up with the nearest (DRE-12 §2.3), whatever the two above.
    climb: int = option(0, least=0, most=20)


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(Options):
    """Inverted lists × query words → one score per picture. Each measure has options of its own."""

    stage: ClassVar[str] = "scoring"

    # Name of the measure. Where it is not the recipe's, its options start from their defaults.
    measure: str = option("")

    def __new__(cls, *_: object, **values: object) -> Self:
        if cls is ScoringOptions:
            raise TypeError("take the class of a measure, such as HammingOptions, or scoring_options(NAME)")
        return super().__new__(cls, **values)

    @classmethod
    def unknown(cls, name: str) -> str:
        owners = ", ".join(kind.measure for kind in ScoringOptions.__subclasses__() if name in names(kind))
        there = f" (an option of {owners})" if owners else ""
        known = ", ".join(sorted(names(cls) - {"measure"})) or "no options"
        return f"the measure {cls.measure} has no option {name!r}{there}; it has {known}"

    @property
    def ratio_mixture(self) -> float | None:
        """λ where scores are density ratios (DRE-12); None where they are not."""
        return None


WITH_CONTEXT = Needs(option="context.method", among=("nicdm", "cdm", "sinkhorn"))
WITH_NEIGHBOURS = Needs(option="context.method", among=("nicdm", "cdm"))


@dataclass(frozen=True, kw_only=True)
class ContextOptions(Options):
    """Distances between pictures → a term for each that makes up for crowded neighbourhoods (CDM-07, CDM-10)."""

    stage: ClassVar[str] = "context"

    # none; nicdm: once; cdm: until neighbourhoods are equally wide; sinkhorn: all rows of squared distances equal.
    method: str = option("none", among=("none", "nicdm", "cdm", "sinkhorn"))
    # How many nearest pictures are a neighbourhood (CDM-10: n_N = 10).
    neighbours: int = option(10, least=1, most=1000, used_if=WITH_NEIGHBOURS)
    # Power of the correction (CDM-07: 0.4 to 0.8 are good for nicdm; cdm ends up in the same place for all).
    alpha: float = option(0.5, least=0.01, most=1.0, used_if=WITH_NEIGHBOURS)
    # cdm ends when a round evens out the widths of neighbourhoods by less than this share.
    epsilon: float = option(1e-4, least=0.0, used_if=Needs(option="context.method", among=("cdm",)))
    # Nearest pictures that are kept of each while terms are computed; enough to be exact, or nearly. 0 keeps all.
    kept: int = option(200, least=0, used_if=WITH_NEIGHBOURS)
    # Pictures that terms are measured against, drawn at random where there are more; later pictures use the same.
    references: int = option(10_000, least=2, used_if=WITH_CONTEXT)
    # Clusters of the index in which a picture's neighbours are looked for, the nearest (CDM-07 §4.3); 0: all pictures.
    probe: int = option(0, least=0, used_if=WITH_CONTEXT)


CLUSTERED = Needs(option="clusters.count", least=1)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Options):
    """Pictures → clusters, of which a query visits the nearest (two-level inverted file, CDM-07 §4)."""

    stage: ClassVar[str] = "clusters"

    # How many the pictures of an index are put into; 0: none.
    count: int = option(0, least=0, most=10_000)
    # How many a query looks into, for the pictures that are to be scored; 0: all pictures are scored.
    probe: int = option(0, least=0)
    # Pictures in these clusters that are scored: those nearest to the query on the principal axes. No others are found.
    scored: int = option(500, least=1, used_if=Needs(option="clusters.probe", least=1))
    # What stands for a cluster: k-means: a mean; k-medoids (needs resight[medoids]) and random: a picture.
    kind: str = option("k-means", among=("k-means", "k-medoids", "random"), used_if=CLUSTERED)
    # Principal axes along which pictures are compared with what stands for a cluster.
    dimensions: int = option(128, least=1, most=1024, used_if=CLUSTERED)
    # Pictures that clusters are learnt from, drawn at random where there are more.
    sample: int = option(10_000, least=1, used_if=CLUSTERED)

    @property
    def learnt(self) -> Self:
        """Without what is a matter of searching."""
        return replace(self, probe=0, scored=ClusterOptions.scored)


@dataclass(frozen=True, kw_only=True)
class AggregateOptions(Options):
    """The rankings of several vocabularies → one (CDM-10 §IV). Happens by itself where an index has several."""

    stage: ClassVar[str] = "aggregate"

    # A picture is placed by the best of its ranks that this share of all vocabularies reach; 0.5: the median rank.
    quantile: float = option(0.5, least=0.0, most=1.0)
    # Pictures that each vocabulary ranks, the best ones; as many as are wanted in any case. The others have no rank.
    depth: int = option(1000, least=1)


VERIFIED = Needs(option="verify.shortlist", least=1)


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """Shortlist → geometrically verified list."""

    stage: ClassVar[str] = "verify"

    # The best this many pictures are verified, where links are not followed (see links); 0 turns verification off.
    shortlist: int = option(200, least=0)
    # Features match that share a word and have signatures at most this many bits apart, whatever the measure.
    threshold: int = option(24, least=0, most=64, used_if=VERIFIED)
    # A match agrees with a map that takes it within this share of the picture's longest side.
    tolerance: float = option(0.01, least=0.0, most=1.0, used_if=VERIFIED)
    # Fewer agreeing matches than this count as unverified.
    min_inliers: int = option(4, least=4, used_if=VERIFIED)
    # A picture counts as verified if random matches would agree as well at most this often.
    false_alarms: float = option(0.01, least=1e-300, used_if=VERIFIED)


@dataclass(frozen=True, kw_only=True)
class ExpandOptions(Options):
    """Verified results → a second, richer query (query expansion)."""

    stage: ClassVar[str] = "expand"

    # The best this many verified results are asked with again; 0 turns expansion off.
    results: int = option(20, least=0, most=100, used_if=VERIFIED)
    # average: the mean of what the query and the results find; union: one query with the features of all.
    kind: str = option("average", among=("average", "union"), used_if=Needs(option="expand.results", least=1))


@dataclass(frozen=True, kw_only=True)
class LinkOptions(Options):
    """Verified results → pictures that are linked to them: links are found once, by `resight link`."""

    stage: ClassVar[str] = "links"

    # So many links in a row are followed from verified results, if most pictures of the index have looked for theirs;
    # else, and with 0, verified results are asked with again (expand).
    steps: int = option(3, least=0, most=10, used_if=VERIFIED)
    # Where links are followed, the best this many are verified, instead of verify.shortlist: links lead to the others.
    shortlist: int = option(100, least=1, used_if=Needs(option="links.steps", least=1))


@dataclass(frozen=True, kw_only=True)
class ColourOptions(Options):
    """Colours → order among results with about as many agreeing matches. Regions and grey pictures have no colours."""

    stage: ClassVar[str] = "colours"

    # A score counts exp(weight · likeness) times: likeness is 1 for the same colours, 0 for none in common. Less where
    # results that are certain show that colours tell nothing. 0 turns this off.
    weight: float = option(2.0, least=0.0, most=20.0, used_if=VERIFIED)


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Options):
    """Queries with known answers → weights for pairs of word counts (LEARN-14)."""

    stage: ClassVar[str] = "learning"

    # Words are put into 1, 2, … groups by frequency, up to this many; how many is chosen by cross-validation (N_v).
    word_groups: int = option(10, least=1, most=50)
    # Counts j in the query and l in the picture weigh as l and j do.
    symmetric: bool = option(True)
    # nearest: relevant pictures against the best irrelevant one (eq. 11); pairs: against every one (eq. 9).
    objective: str = option("nearest", among=("nearest", "pairs"))
    # Large weights cost this much (λ), where counts are in units of how much they vary.
    regularisation: float = option(1.0, least=0.0)
    # Of sub-gradient descent, at most; it ends sooner if queries that were held out are no longer ranked better.
    rounds: int = option(200, least=1)
    # Irrelevant pictures that each query is compared with: those most like it, and a quarter as many others. Relevant
    # ones: no more than this many, drawn at random.
    rivals: int = option(100, least=1)
    # Pictures that are looked at besides those of groups, drawn at random where there are more.
    pictures: int = option(2000, least=0)
    # Queries from which groups and pattern are chosen, drawn at random where there are more; weights come from up to
    # four times as many.
    queries: int = option(500, least=2)
    # Parts into which things are divided for cross-validation.
    folds: int = option(4, least=2)
    # Seed of those draws.
    seed: int = option(1, least=0)


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Options):
    """How an index is written."""

    stage: ClassVar[str] = "store"

    # A commit happens by itself after this many added pictures, so that an interruption costs little.
    commit_every: int = option(1000, least=1)
    # When this many segments of similar size exist they are merged into one.
    merge_factor: int = option(8, least=2)
    # Pictures in each segment that a worker writes, at most, where an index is built by an engine. A worker holds one.
    shard: int = option(2000, least=1)


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Options):
    """Answering over HTTP."""

    stage: ClassVar[str] = "serve"

    # The address to listen at. Others than this machine can reach any but a loopback address, and need a token.
    host: str = option("127.0.0.1")
    # The port to listen at; 0: any that is free.
    port: int = option(8000, least=0, most=65535)
    # A request with a larger body, in bytes, is refused before it is read.
    max_body: int = option(50_000_000, least=1)
    # A picture with more pixels that comes with a request is refused before it is decoded.
    max_pixels: int = option(64_000_000, least=1)
    # Connections that may be open at the same time, half of them by one client; others are told to come again.
    connections: int = option(400, least=1)
    # A request whose line and headers have not arrived after this many seconds is refused.
    head_seconds: float = option(10.0, least=0.01)
    # A body that has not arrived, or an answer that was not taken, after this many seconds is given up.
    body_seconds: float = option(60.0, least=0.01)
    # Requests that a client may make each second, in the long run.
    rate: float = option(50.0, least=0.01)
    # Requests that a client may make in one go, after a pause.
    burst: int = option(300, least=1)
    # Searches, comparisons and pictures that are worked on at the same time; 0: one for each processor.
    at_once: int = option(0, least=0, most=1000)
    # As many more may wait; others are told to come again.
    queue: int = option(32, least=0)
    # Work that has not ended after this many seconds is no longer waited for.
    seconds: float = option(30.0, least=0.01)
