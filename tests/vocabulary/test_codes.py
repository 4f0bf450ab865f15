"""Product-quantiser codes against a naive loop, and what training, files and assignment make of them."""

from __future__ import annotations

import io
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import OptionError, VocabularyError
from resight.features import DETECTORS
from resight.options import AssignOptions, IndexingOptions, VocabularyOptions
from resight.types import Words
from resight.vocabulary import Assigner, Vocabulary, codes, train

from ..support.vocabularies import READY, byte_vocabulary, float_vocabulary, root_sift_like

Array = npt.NDArray[Any]
KEEP_CODES, KEEP_ALL = IndexingOptions(keep="codes"), IndexingOptions(keep="descriptors")
REMEDY = r"cannot make codes; train one with `resight train --set vocabulary\.codes=8`"


def coding(m: int, *, whole: bool = True, seed: int = 0) -> Vocabulary:
    """30 words with random codebooks, in which some entries are there twice."""
    rng = np.random.default_rng(seed)
    plain = (byte_vocabulary if whole else float_vocabulary)(root_sift_like(30, seed=seed))
    codebooks = rng.normal(0, 12, (m, 256, 128 // m))
    codebooks[:, 200:] = codebooks[:, :56]
    return replace(plain, codebooks=np.rint(codebooks).astype(np.int16) if whole else codebooks.astype(np.float32))


def learnt(made: Array, **options: Any) -> Vocabulary:
    chosen = VocabularyOptions(**{"words": 20, "iterations": 5, "codes": 8, **options})
    return train(made, options=chosen, source="test")


def naive_code(vocabulary: Vocabulary, value: Array, word: int) -> list[int]:
    """One descriptor, entry by entry, in integers or doubles; of equally near entries the first."""
    codebooks = vocabulary.codebooks
    assert codebooks is not None
    kind = int if codebooks.dtype == np.int16 else float
    rest = [kind(x) - kind(c) for x, c in zip(value, vocabulary.centroids[word], strict=True)]
    length, found = len(rest) // len(codebooks), []
    for i, book in enumerate(codebooks):
        part = rest[i * length : (i + 1) * length]
        gaps = [sum((x - kind(e)) ** 2 for x, e in zip(part, entry, strict=True)) for entry in book]
        found.append(gaps.index(min(gaps)))
    return found


# --- encoding and decoding


@pytest.mark.parametrize("whole", [True, False], ids=["bytes", "floats"])
@pytest.mark.parametrize("m", [1, 8, 64])
def test_codes_are_those_of_a_naive_loop(m: int, whole: bool) -> None:
    vocabulary = coding(m, whole=whole)
    values = root_sift_like(12, seed=1).astype(vocabulary.kind)
    word = Assigner(vocabulary).assign(values).word
    found = codes.encode(vocabulary, values, word)
    assert (found.dtype, found.shape) == (np.dtype(np.uint8), (12, m))
    assert found.tolist() == [naive_code(vocabulary, x, w) for x, w in zip(values, word, strict=True)]
    assert found.max() < 200  # copies of earlier entries are never chosen


@pytest.mark.parametrize("whole", [True, False], ids=["bytes", "floats"])
def test_decoding_adds_entries_to_the_word(whole: bool) -> None:
    vocabulary = coding(4, whole=whole)
    assert vocabulary.codebooks is not None
    code, word = np.array([[0, 7, 255, 3], [9, 9, 9, 9]], np.uint8), np.array([2, 29], np.int32)
    found = codes.decode(vocabulary, code, word)
    assert (found.dtype, found.shape) == (np.dtype(np.float32), (2, 128))
    for row in range(2):
        entries = np.concatenate([vocabulary.codebooks[i, code[row, i]] for i in range(4)])
        right = vocabulary.centroids[word[row]].astype(np.float32) + entries.astype(np.float32)
        assert np.array_equal(found[row], right)
    assert not whole or np.array_equal(found, np.rint(found))


@pytest.mark.parametrize("m", [1, 8])
def test_what_a_code_stands_for_has_that_code(m: int) -> None:
    vocabulary = coding(m)
    code = np.random.default_rng(3).integers(0, 200, (50, m)).astype(np.uint8)
    word = np.arange(50, dtype=np.int32) % 30
    assert np.array_equal(codes.encode(vocabulary, codes.decode(vocabulary, code, word), word), code)


@pytest.mark.parametrize("keep", ["codes", "descriptors"])
def test_nothing_to_encode(keep: str) -> None:
    vocabulary, nothing, word = coding(8), np.zeros((0, 128), np.uint8), np.zeros(0, np.int32)
    kept = codes.kept(vocabulary, nothing, word, keep=keep)
    assert kept.shape == (0, codes.kept_bytes(vocabulary, keep))
    assert codes.restored(vocabulary, kept, word, keep=keep).shape == (0, 128)


# --- training


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("branching", [0, 4])
def test_learnt_codes_lie_nearer_than_words(kind: type, branching: int) -> None:
    """Codes of eight bytes halve the mean square error of the words, on descriptors that were not trained on."""
    made: Array = root_sift_like(4000, seed=5).astype(kind)
    new: Array = root_sift_like(300, seed=6).astype(kind)
    vocabulary = learnt(made, words=16, branching=branching)
    assert vocabulary.codebooks is not None
    assert vocabulary.codebooks.shape == (8, 256, 16)
    assert vocabulary.codebooks.dtype == (np.int16 if kind is np.uint8 else np.float32)
    found = Assigner(vocabulary).assign(new, options=KEEP_CODES)
    assert found.code is not None
    errors = {
        "word": vocabulary.centroids[found.word].astype(float) - new,
        "code": codes.decode(vocabulary, found.code, found.word).astype(float) - new,
    }
    mean = {name: float((error**2).sum(axis=1).mean()) for name, error in errors.items()}
    assert mean["code"] < 0.5 * mean["word"]


def test_few_descriptors_are_codes_themselves() -> None:
    """With 256 descriptors each is an entry of its own, up to rounding; words are whole numbers already."""
    made = np.unique(root_sift_like(400, seed=7), axis=0)[:256]
    vocabulary = learnt(made, codes=1, words=2)
    word = Assigner(vocabulary).assign(made).word
    back = codes.decode(vocabulary, codes.encode(vocabulary, made, word), word)
    assert np.array_equal(back, made)


def test_words_are_the_same_with_and_without_codes() -> None:
    made = root_sift_like(600, seed=8)
    plain, coded = learnt(made, codes=0), learnt(made)
    assert plain.codebooks is None
    assert replace(coded, codebooks=None).fingerprint == plain.fingerprint
    assert learnt(made).fingerprint == coded.fingerprint != plain.fingerprint


def test_at_most_so_many_descriptors_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    made, options = root_sift_like(900, seed=9).astype(np.float32), VocabularyOptions(codes=2, iterations=3)
    words = np.zeros_like(made)
    monkeypatch.setattr(codes, "MOST_LEARNT_FROM", 400)
    some = codes.learn_codebooks(made, words, options=options, whole=True)
    assert np.array_equal(some, codes.learn_codebooks(made[:400], words[:400], options=options, whole=True))


def test_too_few_descriptors() -> None:
    with pytest.raises(VocabularyError, match="255 descriptors cannot make codebooks of 256 entries; give more"):
        learnt(root_sift_like(255, seed=0))


def test_parts_of_unequal_length() -> None:
    with pytest.raises(VocabularyError, match=r"128 dimensions cannot be cut into 7 .* 1, 2, 4, 8, 16, 32, 64"):
        learnt(root_sift_like(300, seed=0), codes=7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"pca": 36}, "codes are of whole descriptors, not of descriptors reduced to 36 dimensions"),
        ({"vocabularies": 3}, "codes refer to the words of one vocabulary, not of 3"),
    ],
)
def test_options_that_do_not_go_together(values: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        VocabularyOptions(codes=8, **values)


# --- the file


@pytest.mark.parametrize("whole", [True, False])
def test_round_trip_and_fingerprint(whole: bool) -> None:
    vocabulary = coding(8, whole=whole)
    back = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    assert vocabulary.codebooks is not None
    assert back.codebooks is not None
    assert back.codebooks.dtype == vocabulary.codebooks.dtype
    assert np.array_equal(back.codebooks, vocabulary.codebooks)
    changed = vocabulary.codebooks.copy()
    changed[-1, -1, -1] += 1
    others = [replace(vocabulary, codebooks=books).fingerprint for books in (None, changed, changed[:4])]
    assert back.fingerprint == vocabulary.fingerprint
    assert len({vocabulary.fingerprint, *others}) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"codebooks": np.zeros((8, 256, 16), np.float32)},
        {"codebooks": np.zeros((8, 256, 16), np.int64)},
        {"codebooks": np.zeros((8, 255, 16), np.int16)},
        {"codebooks": np.zeros((8, 256, 15), np.int16)},
        {"codebooks": np.zeros((7, 256, 18), np.int16)},
        {"codebooks": np.zeros((0, 256, 0), np.int16)},
        {"codebooks": np.zeros((256, 128), np.int16)},
        {"codebooks": np.array(0, np.int16)},
        {"vocabularies": 3},
        {"reduction": np.eye(128, dtype=np.float32), "centroids": np.zeros((30, 128), np.float32)},
    ],
)
def test_arrays_that_do_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises(VocabularyError, match="x has arrays that do not fit together"):
        Vocabulary.from_bytes(replace(coding(8), **changed).to_bytes(), name="x")
    without = replace(coding(8), **{**changed, "codebooks": None})
    assert Vocabulary.from_bytes(without.to_bytes(), name="x").codebooks is None  # it was due to them


# --- the ready one


@pytest.mark.parametrize("detector", DETECTORS)
def test_ready_codebooks(detector: str) -> None:
    """The words are those of the ready vocabulary, whose fingerprint is as it was; codes say more than words do."""
    plain, ready = Vocabulary.ready(detector), Vocabulary.ready(detector, codes=True)
    assert plain.codebooks is None
    assert replace(ready, codebooks=None).fingerprint == plain.fingerprint == READY[detector]
    assert Vocabulary.from_bytes(ready.to_bytes(), name="x").fingerprint == ready.fingerprint
    assert ready.codebooks is not None
    assert ready.codebooks.shape == (8, 256, 16)
    assert all(len(np.unique(book, axis=0)) == 256 for book in ready.codebooks)


def test_ready_codebooks_are_made_of_pictures(tmp_path: Path) -> None:
    from PIL import Image

    for seed in range(2):
        grey = np.random.default_rng(seed).integers(0, 256, (60, 60), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        Image.fromarray(grey).save(tmp_path / f"{seed}.png")
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "make_codebooks.py"))
    tool["make"]("sift", [tmp_path], tmp_path / "codebooks.npz")
    with np.load(io.BytesIO((tmp_path / "codebooks.npz").read_bytes()), allow_pickle=False) as arrays:
        assert list(arrays) == ["codebooks"]
        made = replace(Vocabulary.ready("sift"), codebooks=arrays["codebooks"])
    assert Vocabulary.from_bytes(made.to_bytes(), name="x").codebooks is not None


# --- assignment


def test_assignment_keeps_what_is_asked_for() -> None:
    vocabulary, values = coding(8), root_sift_like(40, seed=2)
    assigner = Assigner(vocabulary)
    plain = assigner.assign(values)
    assert plain.code is None
    for keep, right in ((KEEP_CODES, codes.encode(vocabulary, values, plain.word)), (KEEP_ALL, values)):
        found = assigner.assign(values, options=keep)
        assert found.code is not None
        assert np.array_equal(found.code, right)
        assert found.code.shape[1] == codes.kept_bytes(vocabulary, keep.keep)
        for name in ("feature", "word", "signature"):
            assert np.array_equal(getattr(found, name), getattr(plain, name))
    assert assigner.assign_query(values, options=AssignOptions()).code is None
    assert codes.kept_bytes(vocabulary, "nothing") == 0


def test_floats_are_kept_to_the_last_bit() -> None:
    values = np.random.default_rng(0).standard_normal((9, 128)).astype(np.float32)
    vocabulary = float_vocabulary(values[:4])
    found = Assigner(vocabulary).assign(values, options=KEEP_ALL)
    assert found.code is not None
    assert found.code.shape == (9, 512)
    assert np.array_equal(codes.restored(vocabulary, found.code, found.word, keep="descriptors"), values)


def test_several_vocabularies_keep_a_descriptor_in_each() -> None:
    several, values = replace(byte_vocabulary(root_sift_like(30, seed=0)), vocabularies=3), root_sift_like(5, seed=1)
    found = Assigner(several).assign(values, options=KEEP_ALL)
    assert found.code is not None
    assert np.array_equal(found.code, np.repeat(values, 3, axis=0))


def test_a_vocabulary_without_codebooks() -> None:
    assigner = Assigner(byte_vocabulary(root_sift_like(30, seed=0)))
    for count in (0, 5):
        with pytest.raises(VocabularyError, match=REMEDY):
            assigner.assign(root_sift_like(count, seed=1), options=KEEP_CODES)


@pytest.mark.parametrize("keep", ["codes", "descriptors"])
def test_features_with_several_words_keep_nothing(keep: str) -> None:
    with pytest.raises(OptionError, match=f"{keep} are kept of features with one word each, not 2"):
        IndexingOptions(words=2, keep=keep)


def test_rows_take_their_codes_along() -> None:
    code = np.arange(8, dtype=np.uint8).reshape(4, 2)
    words = Words(np.array([0, 0, 1, 1], np.int32), np.array([3, 7, 5, 2], np.int32), np.zeros(4, np.uint64), code)

    def kept(chosen: Words) -> Any:
        assert chosen.code is not None
        return chosen.code.tolist()

    assert kept(words.rows(np.array([2, 0]))) == [[4, 5], [0, 1]]
    assert kept(words.nearest(1)) == [[0, 1], [4, 5]]
    assert kept(words.within(range(4, 8))) == [[2, 3], [4, 5]]
    assert words.within(range(4, 8)).word.tolist() == [3, 1]
    assert replace(words, code=None).nearest(1).code is None
