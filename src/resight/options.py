"""One frozen, keyword-only dataclass per stage. The command line, the API and TOML files are all derived from these.

>>> FeatureOptions(max_side=800).max_side
800
>>> from_dict(ImageOptions, {"maxpixels": 800})
Traceback (most recent call last):
    ...
resight.errors.OptionError: unknown option 'maxpixels' for images; known: max_bytes, max_pixels
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, TypeVar, get_type_hints

from .errors import OptionError, UsageError

MOST_WORDS = 1_000_000
# For FeatureOptions.detector where another program finds the features, with scale and angle or as positions alone.
GIVEN, GIVEN_POINTS = "given", "given-points"


def option(
    default: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    among: tuple[str, ...] | None = None,
    later: bool = False,
) -> Any:
    """A field whose value must lie in [least, most], or be one of a few words.

    later: added when fingerprints of these options were in use; its default does not change them.
    """
    return field(default=default, metadata={"least": least, "most": most, "among": among, "later": later})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all stages' options share: types and ranges are checked once, at construction."""

    stage: ClassVar[str]  # name of the table in a TOML file

    def __post_init__(self) -> None:
        check(self)


AnyOptions = TypeVar("AnyOptions", bound=Options)


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
    max_features: int = option(2000, least=1, most=100_000)
    # Least contrast of a keypoint; lower finds more and weaker ones.
    contrast: float = option(0.01, least=0.0, most=1.0)
    # Pictures are taken upright: hessian-affine looks for no dominant directions, vertical stays vertical.
    upright: bool = option(False, later=True)


@dataclass(frozen=True, kw_only=True)
class IndexingOptions(Options):
    """Features → words of indexed pictures. Part of an index's identity."""

    stage: ClassVar[str] = "indexing"

    # Nearest words that each feature gets (CDM-10, multiple assignment: 2 or 3, and as many in the query).
    words: int = option(1, least=1, most=10)
    # Kept of a descriptor besides word and signature: nothing; codes: as vocabulary.codes says; descriptors: all of it.
    keep: str = option("nothing", among=("nothing", "codes", "descriptors"), later=True)

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
    branching: int = option(0, least=0, later=True)
    # Dimensions that descriptors are reduced to before words are looked for (CDM-10 table III #3: 36); 0: all.
    pca: int = option(0, least=0, later=True)
    # Independent vocabularies, each from a sample of its own (CDM-10 table IV); a feature has words in each.
    vocabularies: int = option(1, least=1, most=100, later=True)
    # Bytes of the product-quantiser codes that it can make of descriptors, for indexing.keep (DRE-12: 8); 0: none.
    codes: int = option(0, least=0, most=64, later=True)

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
    neighbours: int = option(10, least=1, most=100)
    # Words farther than this many times the nearest word's distance are dropped (BURST-09 §2.3: 1.2).
    ratio: float = option(1.2, least=1.0)
    # Trees: words that share an ancestor this many levels up with the nearest (DRE-12 §2.3), whatever the two above.
    climb: int = option(0, least=0, most=20, later=True)


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(Options):
    """Inverted lists × query words → one score per picture."""

    stage: ClassVar[str] = "scoring"

    # Name in the registry of resight.scoring.
    measure: str = option("hamming")
    # hamming: matches farther apart than this many bits are ignored (BURST-09: h_t = 24).
    threshold: int = option(24, least=0, most=64)
    # hamming: a match at h bits weighs exp(-h²/sigma²) (BURST-09: 16); a very large value lets all matches weigh alike.
    sigma: float = option(16.0, least=0.1)
    # hamming: of a query feature's matches in one picture only the closest counts (MMR, BURST-09 §4.1).
    closest_only: bool = option(False)
    # hamming: what tames several matches of a query feature in one picture (BURST-09 table 2, rows 1 to 5).
    intra: str = option("root-share", among=("none", "count", "root-count", "root-share", "log-share"))
    # hamming: tame query features that match in many pictures (BURST-09 §4.3).
    inter: bool = option(False)
    # hamming: matches count where they agree on one turn and one change of size (WGC).
    weak_geometry: bool = option(True)
    # hamming: a query feature weighs its size to this power; larger ones are more reliable (BURST-09 §3).
    size_power: float = option(0.0, least=0.0, most=2.0)
    # hamming, knn: matches weigh by idf, and hamming's by distance; by density ratio (DRE-12); or 1 each.
    weights: str = option("idf", among=("idf", "density", "fixed"), later=True)
    # density: the share of a query's features that an object accounts for (DRE-12: λ).
    mixture: float = option(0.06, least=1e-9, most=0.999, later=True)
    # knn: how many of the nearest descriptors vote for each feature; 0: √n of the n that have its word (DRE-12 §3.4).
    nearest: int = option(0, least=0, most=1_000_000, later=True)

    # negative: this many times the mean picture is taken off both sides (LEARN-14 §2: β); 0 is the measure cosine.
    beta: float = option(0.1, least=0.0, most=10.0, later=True)
    # asymmetric: differences of counts are raised to this power (LEARN-14 §2: p).
    power: int = option(1, least=1, most=2, later=True)
    # asymmetric: what a query has and a picture lacks weighs α · (features of all pictures) / (those in common with
    # the query) − 1, never less than 0 (LEARN-14 §2: λ, defined for power 1 and used for both).
    alpha: float = option(0.8, least=0.0, most=1e6, later=True)

    @property
    def uses_mixture(self) -> bool:
        """Whether scores are density ratios, so that the mixture matters."""
        return self.measure == "density" or (self.measure in ("hamming", "knn") and self.weights == "density")


@dataclass(frozen=True, kw_only=True)
class ContextOptions(Options):
    """Distances between pictures → a term for each that makes up for crowded neighbourhoods (CDM-07, CDM-10)."""

    stage: ClassVar[str] = "context"

    # none; nicdm: once; cdm: until neighbourhoods are equally wide; sinkhorn: all rows of squared distances equal.
    method: str = option("none", among=("none", "nicdm", "cdm", "sinkhorn"))
    # How many nearest pictures are a neighbourhood (CDM-10: n_N = 10).
    neighbours: int = option(10, least=1, most=1000)
    # Power of the correction (CDM-07: 0.4 to 0.8 are good for nicdm; cdm ends up in the same place for all).
    alpha: float = option(0.5, least=0.01, most=1.0)
    # cdm ends when a round evens out the widths of neighbourhoods by less than this share.
    epsilon: float = option(1e-4, least=0.0)
    # Nearest pictures that are kept of each while terms are computed; enough to be exact, or nearly. 0 keeps all.
    kept: int = option(200, least=0)
    # Pictures that terms are measured against, drawn at random where there are more; later pictures use the same.
    references: int = option(10_000, least=2)
    # Seed of that draw.
    seed: int = option(1, least=0)
    # Clusters of the index in which a picture's neighbours are looked for, the nearest (CDM-07 §4.3); 0: all pictures.
    probe: int = option(0, least=0, later=True)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Options):
    """Pictures → clusters, of which a query visits the nearest (two-level inverted file, CDM-07 §4)."""

    stage: ClassVar[str] = "clusters"

    # How many the pictures of an index are put into; 0: none.
    count: int = option(0, least=0, most=10_000)
    # How many a query looks into; 0: all, whatever there is.
    probe: int = option(0, least=0)
    # What stands for a cluster: k-means: a mean; k-medoids (needs resight[medoids]) and random: a picture.
    kind: str = option("k-means", among=("k-means", "k-medoids", "random"))
    # Principal axes along which pictures are compared with what stands for a cluster.
    dimensions: int = option(64, least=1, most=1024)
    # Pictures that clusters are learnt from, drawn at random where there are more.
    sample: int = option(10_000, least=1)
    # Seed of that draw, and of what is learnt.
    seed: int = option(1, least=0)


@dataclass(frozen=True, kw_only=True)
class AggregateOptions(Options):
    """The rankings of several vocabularies → one (CDM-10 §IV). Happens by itself where an index has several."""

    stage: ClassVar[str] = "aggregate"

    # A picture is placed by the best of its ranks that this share of all vocabularies reach; 0.5: the median rank.
    quantile: float = option(0.5, least=0.0, most=1.0)
    # Pictures that each vocabulary ranks, the best ones; as many as are wanted in any case. The others have no rank.
    depth: int = option(1000, least=1)


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """Shortlist → geometrically verified list."""

    stage: ClassVar[str] = "verify"

    # The best this many pictures are verified; 0 turns verification off.
    shortlist: int = option(200, least=0)
    # A match agrees with a map that takes it within this share of the picture's longest side.
    tolerance: float = option(0.01, least=0.0, most=1.0)
    # Fewer agreeing matches than this count as unverified.
    min_inliers: int = option(4, least=4)
    # A picture counts as verified if random matches would agree as well at most this often.
    false_alarms: float = option(0.01, least=1e-300)


@dataclass(frozen=True, kw_only=True)
class ExpandOptions(Options):
    """Verified results → a second, richer query (query expansion)."""

    stage: ClassVar[str] = "expand"

    # The best this many verified results are asked with again; 0 turns expansion off.
    results: int = option(5, least=0, most=100)
    # average: the mean of what the query and the results find; union: one query with the features of all.
    kind: str = option("average", among=("average", "union"))


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


def check(options: Options) -> None:
    """Raise OptionError where a value has the wrong type or is out of range."""
    hints = get_type_hints(type(options))
    for f in fields(options):
        value, kind = getattr(options, f.name), hints[f.name]
        if kind is float and type(value) is int:
            object.__setattr__(options, f.name, float(value))
        elif type(value) is not kind:
            raise OptionError(f"option {f.name!r} must be {kind.__name__}, not {value!r}")
        least, most, among = (f.metadata.get(bound) for bound in ("least", "most", "among"))
        if among and value not in among:
            raise OptionError(f"option {f.name!r} must be one of {', '.join(among)}, not {value!r}")
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            bounds = " and ".join(
                text for text, bound in ((f"at least {least}", least), (f"at most {most}", most)) if bound is not None
            )
            raise OptionError(f"option {f.name!r} must be {bounds}, not {value!r}")


def from_dict(kind: type[AnyOptions], values: dict[str, Any]) -> AnyOptions:
    """Build options from plain values; unknown keys are an error that lists the known ones."""
    known = sorted(f.name for f in fields(kind))
    for key in values:
        if key not in known:
            raise OptionError(f"unknown option {key!r} for {kind.stage}; known: {', '.join(known)}")
    return kind(**values)


def to_dict(options: Options) -> dict[str, Any]:
    """The plain values, ready for JSON or TOML."""
    return asdict(options)


def parse_value(kind: type[Options], name: str, text: str) -> Any:
    """A command-line string as the type that the option wants."""
    if name not in {f.name for f in fields(kind)}:
        from_dict(kind, {name: text})  # raises, and lists the known ones
    wanted = get_type_hints(kind)[name]
    try:
        return {"true": True, "false": False}[text] if wanted is bool else wanted(text)
    except (ValueError, KeyError):
        what = "true or false" if wanted is bool else wanted.__name__
        raise OptionError(f"option {name!r} must be {what}, not {text!r}") from None


def parse_region(text: str) -> tuple[float, float, float, float]:
    """x, y, width and height, from "X,Y,W,H"."""
    try:
        x, y, width, height = (float(number) for number in text.split(","))
    except ValueError:
        raise UsageError(f"a region is four numbers X,Y,W,H, not {text!r}") from None
    return x, y, width, height


def fingerprint(*options: Options | dict[str, Any]) -> str:
    """A short name for these values: equal options have equal fingerprints, on any machine."""
    plain = [o if isinstance(o, dict) else {o.stage: _counted(o)} for o in options]
    return hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=8).hexdigest()


def _counted(options: Options) -> dict[str, Any]:
    unset = {f.name for f in fields(options) if f.metadata["later"] and getattr(options, f.name) == f.default}
    return {name: value for name, value in to_dict(options).items() if name not in unset}
