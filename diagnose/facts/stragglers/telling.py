"""The events that say who holds up the steps, each at the line that shows it."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from diagnose.facts.stragglers.places import Place
from diagnose.facts.stragglers.roles import Imbalance
from diagnose.facts.stragglers.scores import Score
from diagnose.facts.stragglers.table import STEP, Table
from diagnose.facts.stragglers.units import Unit
from diagnose.model.event import Event, Nature, Value

if TYPE_CHECKING:
    import polars as pl

SLOWEST = 10
"""Ranks that an event lists."""


class Teller:
    """Makes the events.

    Args:
        table: Of all ranks.
        cells: With ``excess``.
        places: Of all ranks.
        scores: Of the ranks that stand out, the worst first.
    """

    def __init__(
        self,
        table: Table,
        cells: "pl.DataFrame",
        places: Mapping[int, Place],
        scores: Sequence[Score],
    ) -> None:
        self._table = table
        self._cells = cells
        self._places = places
        self._scores = {one.rank: one for one in scores}
        self._common: dict[str, Value] = {
            "ranks_compared": len(table.ranks),
            "steps": table.steps,
        }

    def straggler(self, unit: Unit, gain: float, explained: float, end_block: int | None) -> Event:
        """Return the event of one unit.

        Args:
            unit: Who.
            gain: Share of the step without it.
            explained: Share of all that is lost, of all units together.
            end_block: Hosts of all units, where they may be an end stage of an unknown pipeline.
        """
        own = [self._scores[rank] for rank in unit.ranks]
        worst = max(own, key=lambda one: (one.excess * one.share, -one.rank))
        waits = [one.wait_ratio for one in own if one.wait_ratio is not None]
        phase = "data" if sum(one.by_data for one in own) > len(own) / 2 else "compute"
        fields: dict[str, Value] = {
            "unit": unit.kind,
            "ranks": [*unit.ranks],
            "phase": phase,
            "metric": f"{phase}_time",
            "score": median(one.own / one.peers if one.peers else 1.0 for one in own),
            "excess": median(one.excess for one in own),
            "usual": median(one.usual for one in own),
            "apart": median(one.apart for one in own),
            "share": median(one.share for one in own),
            "own": worst.own,
            "peers": worst.peers,
            "gain": gain,
            "explained": explained,
            "chance": max(one.chance for one in own),
            "wait_ratio": median(waits) if waits else None,
            "stage": unit.stage,
            "end_block": end_block,
            "slowest": self._slowest(),
            **self._common,
        }
        rank = unit.ranks[0] if unit.kind == "rank" else None
        return self._event("train.straggler", fields, (worst.file, worst.line), rank, unit.host)

    def end_stage(self, unit: Unit, gain: float) -> Event:
        """Return the event of a slow unit that is the first or the last pipeline stage.

        Args:
            unit: Who.
            gain: Share of the step if it worked like the median rank.
        """
        own = [self._scores[rank] for rank in unit.ranks]
        fields: dict[str, Value] = {
            "role": "stage",
            "slow": [unit.stage],
            "places": unit.stages,
            "score": 1 + median(one.excess for one in own),
            "gain": gain * (1 - 1 / unit.stages),
            "ranks": [*unit.ranks],
            **self._hosts(unit.ranks),
            **self._common,
        }
        return self._event("train.ranks_imbalanced", fields, (own[0].file, own[0].line))

    def imbalance(self, found: Imbalance) -> Event:
        """Return the event of slow places of the layout."""
        fields: dict[str, Value] = {
            "role": found.role,
            "slow": [*found.slow],
            "places": found.places,
            "score": 1 + found.excess,
            "gain": max(0.0, found.excess - found.mean) * self._own_share(),
            "ranks": [*found.ranks],
            **self._hosts(found.ranks),
            **self._common,
        }
        return self._event("train.ranks_imbalanced", fields, self._place(found.ranks[0]))

    def scattered(self, ranks: Sequence[int]) -> Event:
        """Return the event of slow ranks that have nothing in common."""
        own = [self._scores[rank] for rank in ranks]
        fields: dict[str, Value] = {
            "role": "scattered",
            "score": 1 + median(one.excess for one in own),
            "ranks": [*ranks],
            "slowest": self._slowest(),
            **self._common,
        }
        return self._event("train.ranks_imbalanced", fields, (own[0].file, own[0].line))

    def turns(self, rest: float) -> Event:
        """Return the event of ranks that are slow in turn.

        Args:
            rest: Share of the step that is lost to it.
        """
        fields: dict[str, Value] = {"role": "turns", "rest": rest, **self._common}
        return self._event("train.ranks_imbalanced", fields, self._place(self._table.ranks[0]))

    def lengths(self, correlation: float) -> Event:
        """Return the event of batches of unequal length.

        Args:
            correlation: Of tokens and own work, over all ranks and steps.
        """
        fields: dict[str, Value] = {
            "role": "lengths",
            "correlation": correlation,
            "rest": self._lost_to_lengths(),
            **self._common,
        }
        return self._event("train.ranks_imbalanced", fields, self._place(self._table.ranks[0]))

    def collectives(self, fields: dict[str, Value]) -> Event:
        """Return the event of slow collectives."""
        return self._event("train.slow_collectives", fields, self._place(self._table.ranks[0]))

    def _slowest(self) -> list[Value]:
        """Return the slowest ranks; those of a host that are equally slow stand together."""
        worst = sorted(self._scores.values(), key=lambda one: (-one.excess * one.share, one.rank))
        alike: dict[tuple[str | None, str], list[int]] = {}
        for one in worst[:SLOWEST]:
            how = f"{one.excess:+.0%} in {one.share:.0%} of the steps"
            alike.setdefault((self._places[one.rank].host, how), []).append(one.rank)
        return [
            f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, sorted(ranks)))}"
            + (f" on {host}" if host else "")
            + f": {how}"
            for (host, how), ranks in alike.items()
        ]

    def _hosts(self, ranks: Sequence[int]) -> dict[str, Value]:
        found = sorted({host for rank in ranks if (host := self._places[rank].host)})
        return {"hosts": [*found], "host_count": len(found)}

    def _own_share(self) -> float:
        """Return the part of a step that is own work."""
        import polars as pl

        steps = self._cells.group_by(STEP).agg(
            share=pl.col("scale").first()
            / pl.coalesce(pl.col("whole").median(), pl.col("own").max())
        )
        share = steps["share"].median()
        return min(1.0, share) if isinstance(share, float) else 1.0

    def _lost_to_lengths(self) -> float:
        """Return the share of a step by which the longest batch exceeds the median one."""
        import polars as pl

        whole = pl.coalesce(pl.col("whole").median(), pl.col("own").max())
        steps = self._cells.group_by(STEP).agg(
            lost=pl.col("by_length").max() * pl.col("scale").first() / whole
        )
        lost = steps["lost"].mean()
        return lost if isinstance(lost, float) else 0.0

    def _place(self, rank: int) -> tuple[str, int]:
        """Return the last line of a rank."""
        import polars as pl

        file, line = self._cells.filter(pl.col("rank") == rank).select("file", "line").rows()[-1]
        return file, line

    def _event(
        self,
        name: str,
        fields: dict[str, Value],
        place: tuple[str, int],
        rank: int | None = None,
        host: str | None = None,
    ) -> Event:
        file, line = place
        shown = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in fields.items()
            if value is not None and key not in ("slowest", "ranks", "hosts", "metric")
        )
        return Event(
            name=name, nature=Nature.MEASUREMENT, file=file, line=line, end_line=line,
            text=f"{name.removeprefix('train.')}: {shown}", fields=fields, rank=rank, host=host,
        )  # fmt: skip
