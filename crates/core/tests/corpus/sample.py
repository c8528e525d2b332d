"""A small store of measurements, kept in memory and written to disk on request."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Iterable, Iterator


@dataclass(frozen=True)
class Measurement:
    station: str
    taken_at: float
    value: float
    unit: str = "celsius"
    tags: tuple[str, ...] = field(default_factory=tuple)

    def is_outlier(self, mean: float, deviation: float, limit: float = 3.0) -> bool:
        if deviation == 0:
            return False
        return abs(self.value - mean) / deviation > limit


class MeasurementStore:
    def __init__(self, path: Path | None = None) -> None:
        self._by_station: dict[str, list[Measurement]] = defaultdict(list)
        self._path = path
        if path is not None and path.exists():
            self._load(path)

    def add(self, measurement: Measurement) -> None:
        series = self._by_station[measurement.station]
        if series and series[-1].taken_at > measurement.taken_at:
            raise ValueError(f"{measurement.station}: measurements have to arrive in order")
        series.append(measurement)

    def extend(self, measurements: Iterable[Measurement]) -> int:
        count = 0
        for measurement in sorted(measurements, key=lambda m: (m.station, m.taken_at)):
            self.add(measurement)
            count += 1
        return count

    def stations(self) -> list[str]:
        return sorted(name for name, series in self._by_station.items() if series)

    def between(self, station: str, start: float, end: float) -> Iterator[Measurement]:
        for measurement in self._by_station.get(station, []):
            if start <= measurement.taken_at < end:
                yield measurement

    def summary(self, station: str) -> dict[str, float]:
        values = [measurement.value for measurement in self._by_station[station]]
        if not values:
            return {"count": 0}
        return {
            "count": len(values),
            "mean": statistics.fmean(values),
            "median": statistics.median(values),
            "stdev": statistics.pstdev(values) if len(values) > 1 else 0.0,
            "min": min(values),
            "max": max(values),
        }

    def outliers(self, station: str) -> list[Measurement]:
        facts = self.summary(station)
        series = self._by_station[station]
        return [m for m in series if m.is_outlier(facts["mean"], facts["stdev"])]

    def save(self) -> None:
        if self._path is None:
            raise RuntimeError("this store was made without a path")
        rows = [asdict(m) for name in self.stations() for m in self._by_station[name]]
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(rows, indent=2), encoding="utf-8")
        temporary.replace(self._path)

    def _load(self, path: Path) -> None:
        for row in json.loads(path.read_text(encoding="utf-8")):
            row["tags"] = tuple(row.get("tags", ()))
            self.add(Measurement(**row))


def moving_average(values: list[float], width: int) -> list[float]:
    if width < 1:
        raise ValueError("the width of a window is at least one")
    total = 0.0
    averages = []
    for index, value in enumerate(values):
        total += value
        if index >= width:
            total -= values[index - width]
        averages.append(total / min(index + 1, width))
    return averages


if __name__ == "__main__":
    store = MeasurementStore(Path("measurements.json"))
    for name in store.stations():
        print(f"{name:20} {store.summary(name)}")
