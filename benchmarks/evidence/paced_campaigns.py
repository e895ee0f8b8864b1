"""The options of campaigns of paced runs, and where their results go."""

from __future__ import annotations

import argparse
from pathlib import Path

from rt_sched.runtime.host.tiers import Tier, available_tiers


def parser_of(doc: str, count: str, default: int, of: str, *, seed: str | None = None) -> argparse.ArgumentParser:
    """A parser with `--COUNT` for how many are made of what `of` says, and where to write.

    With `seed`, which says of what, also `--seed`.
    """
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument(f"--{count}", type=int, default=default, metavar="N", help=f"{of} ({default})")
    if seed is not None:
        parser.add_argument("--seed", type=int, default=0, metavar="N", help=f"{seed} (0)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the document in a file as well")
    return parser


def add_tier(parser: argparse.ArgumentParser) -> None:
    """`--tier`, of those in which a process may be killed and replaced."""
    parser.add_argument("--tier", choices=["fifo", "user"], help="the best of both unless given")


def best_tier(asked: str | None) -> str:
    """The tier that was asked for, else the best one that this host has."""
    has_fifo = any(one.tier is Tier.FIFO and one.available for one in available_tiers())
    return asked or ("fifo" if has_fifo else "user")


def hand_over(text: str, table: str, options: argparse.Namespace) -> None:
    """Writes the document to where the options say, and prints it or the table."""
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    print(text if options.json else table, end="")
