"""What CDM-10 prints, as data; of table II the columns of plain bags of words ("no CDM") alone.

Figures 6 and 7 are drawings, and nothing in the text tells their values: they are left out, not guessed.
CDM-07 prints tables I (in part) and II first; its table 1 gives EER, a quarter of N-S, and agrees to the last digit.
"""

from __future__ import annotations

from .experiment import MOST_SAMPLED, OUR_FEATURES, OUR_IDF, SAMPLED_PER_WORD, Published

CONDITIONS = (
    "Hessian-Affine regions with SIFT, 2269 per picture on average; N-S: 10200 pictures, Lola: 164 frames; "
    "k-means on about 1 million descriptors of Corel or of N-S, or on all of Lola"
)
DIFFERENCES = (
    OUR_FEATURES,
    f"k-means on {SAMPLED_PER_WORD} descriptors for each word and at most {MOST_SAMPLED}, instead of about 1 million",
    OUR_IDF,
)
INDEPENDENT_SET = "the distractors, instead of Corel, are the independent set"

# (clustering set, words) → (experiment number, N-S without CDM, with Sinkhorn's algorithm, with CDM)
TABLE_I = {
    ("corel", 1000): (1, 2.90, 3.05, 3.45),
    ("corel", 10000): (2, 3.10, 3.21, 3.53),
    ("corel", 20000): (3, 3.12, 3.25, 3.54),
    ("corel", 30000): (4, 3.14, 3.28, 3.55),
    ("N-S", 1000): (5, 2.91, 3.14, 3.49),
    ("N-S", 10000): (6, 3.16, 3.25, 3.57),
    ("N-S", 30000): (7, 3.26, 3.31, 3.57),
}
# (clustering set, words, norm) → (experiment number, ANR on Lola)
TABLE_II = {
    ("corel", 10000, "L1"): (1, 0.0522),
    ("corel", 20000, "L1"): (4, 0.0476),
    ("corel", 20000, "L2"): (5, 0.0528),
    ("corel", 30000, "L1"): (6, 0.0468),
    ("corel", 50000, "L1"): (7, 0.0416),
    ("lola", 10000, "L1"): (8, 0.0321),
    ("lola", 20000, "L1"): (9, 0.0240),
    ("lola", 20000, "L2"): (10, 0.0231),
}
# (clustering set, words, variant) → (experiment number, N-S without CDM, with CDM)
TABLE_III = {
    ("corel", 10000, "hierarchical"): (1, 2.90, 3.41),
    ("corel", 30000, "L2"): (2, 2.68, 3.37),
    ("corel", 30000, "PCA"): (3, 3.01, 3.49),
    ("corel", 30000, "MA×2"): (4, 3.12, 3.59),
    ("corel", 30000, "MA×3"): (5, 3.07, 3.60),
    ("corel", 50000, "MA×2"): (6, 3.21, 3.60),
    ("corel", 50000, "MA×3"): (7, 3.18, 3.61),
}
# (vocabularies, words of each) → (N-S without CDM, with CDM); all learnt on N-S. The rows have no numbers, so they are
# counted.
TABLE_IV = {
    (1, 1000): (2.91, 3.49),
    (1, 10000): (3.16, 3.57),
    (1, 30000): (3.26, 3.57),
    (3, 1000): (2.93, 3.54),
    (3, 10000): (3.20, 3.63),
    (3, 30000): (3.29, 3.63),
    (5, 1000): (2.94, 3.55),
    (5, 10000): (3.21, 3.64),
    (5, 30000): (3.31, 3.65),
    (9, 1000): (2.95, 3.56),
    (9, 10000): (3.22, 3.65),
    (9, 30000): (3.32, 3.67),
    (19, 1000): (2.96, 3.57),
    (19, 10000): (3.22, 3.66),
    (19, 30000): (3.33, 3.68),
}


def table_1(source: str, words: int, *, method: str = "no CDM", note: str = "") -> tuple[Published, ...]:
    """N-S with L1; nothing where the table has no such row."""
    if (source, words) not in TABLE_I:
        return ()
    number, *values = TABLE_I[source, words]
    return _cited("table I", "N-S", "ns", (number, values[("no CDM", "Sinkhorn", "CDM").index(method)]), note)


def table_2(source: str, words: int, norm: str = "L1") -> tuple[Published, ...]:
    """ANR on Lola; nothing where the table has no such row."""
    return _cited("table II", "Lola", "anr", TABLE_II.get((source, words, norm)), "")


def table_3(source: str, words: int, variant: str, *, method: str = "no CDM", note: str = "") -> tuple[Published, ...]:
    """N-S of the variants; nothing where the table has no such row."""
    if (source, words, variant) not in TABLE_III:
        return ()
    number, *values = TABLE_III[source, words, variant]
    return _cited("table III", "N-S", "ns", (number, values[("no CDM", "CDM").index(method)]), note)


def table_4(vocabularies: int, words: int, *, method: str = "no CDM") -> tuple[Published, ...]:
    """N-S of several vocabularies."""
    value = TABLE_IV[vocabularies, words][("no CDM", "CDM").index(method)]
    return _cited("table IV", "N-S", "ns", (1 + list(TABLE_IV).index((vocabularies, words)), value), "")


def _cited(table: str, dataset: str, measure: str, found: tuple[int, float] | None, note: str) -> tuple[Published, ...]:
    if found is None:
        return ()
    number, value = found
    place = f"{table} #{number}"
    return (Published(paper="CDM-10", place=place, dataset=dataset, measure=measure, value=value, note=note),)
