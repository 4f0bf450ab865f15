"""`resight learn`: weights for pairs of word counts, from groups of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..options import LearnOptions
from ..wording import count
from .app import AnIndex, AsJson, Set, command, default_index
from .arguments import build, parse_settings, stored_key
from .output import counting, printable, say_json, say_table

if TYPE_CHECKING:
    from ..index import Index
    from ..learning_to_rank import Trial


@command
def learn(
    place: AnIndex = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Which pictures show the same thing: lines with a key or path, a tab, and a name for the thing.",
        ),
    ] = None,
    from_verified: Annotated[
        bool,
        typer.Option("--from-verified", help="Learn from pictures that geometry confirms to show the same thing."),
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget what was learnt.")] = False,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Learn from examples how much shared words tell (LEARN-14), for searches with --recipe learnt.

    It also holds for pictures that you add later. Learn again when the collection has changed a lot. An interrupted
    run resumes where it stopped.
    """
    from ..index import Index

    if (groups is not None) + from_verified + forget != 1:
        raise UsageError("give one of --groups FILE, --from-verified and --forget")
    options = build(LearnOptions, parse_settings(settings, LearnOptions))
    with Index.open(place or default_index()) as target:
        facts: dict[str, Any] = {"index": target.place}
        if forget:
            facts["forgotten"] = target.learn.forget_similarity()
            text = "forgotten" if facts["forgotten"] else "there was nothing to forget"
        else:
            facts |= _learn(target, groups, options)
            text = (
                f"learnt from {count(facts['queries'])} in {count(facts['groups'], 'group')}, "
                f"and {count(facts['others'], 'other')}: {count(facts['word_groups'], 'group')} of words, "
                f"{count(facts['bins'], 'weight')} each; "
                f"mAP {facts['map']:.3f} in cross-validation"
            )
    if as_json:
        say_json(facts)
    else:
        if not forget:
            _show(facts["tried"])
        typer.echo(printable(text))
    return 0


def _learn(target: Index, file: Path | None, options: LearnOptions) -> dict[str, Any]:
    from ..learn import VerifiedGroups, read_groups

    if file is None:
        with counting(min(len(target), options.pictures), text="verifying") as done:
            examples = target.learn.verified_groups(options=options, done=done)
    else:
        given = read_groups(file)
        known = {name: [stored_key(target, key) or key for key in keys] for name, keys in given.items()}
        examples = VerifiedGroups(known, ())
    tried: list[Trial] = []
    with counting(options.word_groups, text="learning") as done:

        def report(each: Trial) -> None:
            done(int(not tried or tried[-1].word_groups != each.word_groups))
            tried.append(each)

        learnt = target.learn.similarity(examples.groups, unsure=examples.unsure, options=options, report=report)
    weights = learnt.similarity.weights
    return {
        "groups": learnt.groups, "queries": learnt.queries, "others": learnt.pictures - learnt.queries,
        "word_groups": len(weights), "bins": weights.shape[1], "counts": learnt.similarity.most,
        "map": learnt.map, "similarity": learnt.similarity.fingerprint,
        "tried": [{"word_groups": t.word_groups, "bins": t.bins, "map": t.map, "objective": t.loss} for t in tried],
    }  # fmt: skip


def _show(tried: list[dict[str, Any]]) -> None:
    """The best pattern for each number of groups of words."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("groups of words", "weights each", "mAP", "objective"):
        table.add_column(title, justify="right")
    for groups in dict.fromkeys(t["word_groups"] for t in tried):
        best = max((t for t in tried if t["word_groups"] == groups), key=lambda t: t["map"])
        table.add_row(str(groups), str(best["bins"]), f"{best['map']:.4f}", f"{best['objective']:.4f}")
    say_table(table)
