"""One frozen, keyword-only dataclass per stage, and per measure. The command line, the API and TOML files follow them.

>>> FeatureOptions(max_side=800).max_side
800
>>> ImageOptions(maxpixels=800)
Traceback (most recent call last):
    ...
resight.errors.OptionError: unknown option 'maxpixels' for images; known: max_bytes, max_pixels
>>> NegativeOptions(sigma=12.0)
Traceback (most recent call last):
    ...
resight.errors.OptionError: the measure negative has no option 'sigma' (an option of hamming); it has beta
"""

from .base import (
    Needs,
    Options,
    differing,
    fingerprint,
    from_dict,
    names,
    parse_region,
    parse_value,
    require_used,
    to_dict,
)
from .measures import (
    MEASURE_OPTIONS,
    AsymmetricOptions,
    BurstOptions,
    CosineOptions,
    DensityOptions,
    HammingOptions,
    KnnOptions,
    L1Options,
    L2Options,
    LearntOptions,
    NegativeOptions,
    TfIdfOptions,
    TfOptions,
    measure_options,
    scoring_options,
)
from .stages import (
    GIVEN,
    GIVEN_POINTS,
    LEAST_FEATURES,
    MOST_WORDS,
    AggregateOptions,
    AssignOptions,
    ClusterOptions,
    ColourOptions,
    ContextOptions,
    ExpandOptions,
    FeatureOptions,
    ImageOptions,
    IndexingOptions,
    LearnOptions,
    LinkOptions,
    ScoringOptions,
    ServeOptions,
    StoreOptions,
    VerifyOptions,
    VocabularyOptions,
)

__all__ = [
    "GIVEN",
    "GIVEN_POINTS",
    "LEAST_FEATURES",
    "MEASURE_OPTIONS",
    "MOST_WORDS",
    "AggregateOptions",
    "AssignOptions",
    "AsymmetricOptions",
    "BurstOptions",
    "ClusterOptions",
    "ColourOptions",
    "ContextOptions",
    "CosineOptions",
    "DensityOptions",
    "ExpandOptions",
    "FeatureOptions",
    "HammingOptions",
    "ImageOptions",
    "IndexingOptions",
    "KnnOptions",
    "L1Options",
    "L2Options",
    "LearnOptions",
    "LearntOptions",
    "LinkOptions",
    "Needs",
    "NegativeOptions",
    "Options",
    "ScoringOptions",
    "ServeOptions",
    "StoreOptions",
    "TfIdfOptions",
    "TfOptions",
    "VerifyOptions",
    "VocabularyOptions",
    "differing",
    "fingerprint",
    "from_dict",
    "measure_options",
    "names",
    "parse_region",
    "parse_value",
    "require_used",
    "scoring_options",
    "to_dict",
]
