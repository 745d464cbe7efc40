"""The picture of a stream that several readers share: the lines that each reads."""

from functools import partial

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import shards as model

LEFT = 104  # where lines and batches begin, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
CELL_WIDTH, CELL_HEIGHT, ROW = 50, 20, 27  # a line's cell, and from one file to the next, in pixels
TOP = 112


def draw(
    way: str, files: int, ranks: int, workers: int, measured: model.Reading | None = None
) -> svg.Picture:
    """Draw one state of the explorable; `measured` is what a run read, drawn in a second grid."""
    reading = model.read(way, files, ranks, workers)
    bottom = TOP + len(reading.sizes) * ROW
    lanes = bottom + 46
    end = lanes + ranks * ROW
    legend = [("solid", palette.rank_colour(rank), f"rank {rank}") for rank in range(ranks)]
    body = [
        svg.legend(LEFT, 88, [*legend, ("ring", palette.ALARM, "read, but not trained on")]),
        *_grid(reading, TOP),
        svg.text(LEFT, lanes - 14, f"Batches of {model.BATCH} lines", colour=palette.MUTED),
        *_lanes(reading, lanes),
    ]
    if measured:
        top = end + 46
        end = top + len(measured.sizes) * ROW
        body += [svg.text(LEFT, top - 14, "Your run", bold=True), *_grid(measured, top)]
    title, subtitle = _title(reading), _subtitle(ranks, workers, reading)
    if measured:
        title, subtitle = _title_of_run(measured), f"Above, by the model: {title}"
    return svg.card(
        end + 16,
        title,
        body,
        subtitle=subtitle,
        alt=f"{words.plural(files, 'file')} as rows of lines, coloured by the ranks that read "
        f"them: a line is read {_range(reading)}. The ranks get "
        f"{' and '.join(words.plural(count, 'batch') for count in reading.batches)}."
        + (f" In the run a line is read {_range(measured)}." if measured else ""),
    )


def _range(reading: model.Reading) -> str:
    """Describe in words how often a line is read."""
    times = sorted({reading.times(line) for line in reading.lines})
    if len(times) > 1:
        return f"{times[0]} to {times[-1]} times"
    return "once" if times == [1] else f"{times[0]} times"


def _title(reading: model.Reading) -> str:
    most = max(map(reading.times, reading.lines))
    few, many = min(reading.batches), max(reading.batches)
    if most > 1:
        return f"Each line is read {most} times in every epoch"
    if few == 0:
        return "Each line is read once, but a rank has no batch at all"
    if reading.idle:
        return f"Each line once, but {words.plural(reading.idle, 'reader')} of all have nothing"
    if few < many:
        return f"Each line is read once, but ranks have {few} to {many} batches"
    return f"Each line is read once, and all ranks have {words.plural(few, 'batch')}"


def _title_of_run(run: model.Reading) -> str:
    most, missing = max(map(run.times, run.lines)), sum(not run.times(line) for line in run.lines)
    if most > 1:
        return f"In your run a line is read {most} times"
    if missing:
        return f"In your run {missing} of {len(run.lines)} lines are missing"
    return "In your run each line is read once"


def _subtitle(ranks: int, workers: int, reading: model.Reading) -> str:
    workers_of = f"{ranks} × {words.plural(workers, 'loader worker')}"
    origin = workers_of if workers else f"{words.plural(ranks, 'rank')} without workers"
    readers = words.plural(ranks * max(workers, 1), "reader")
    if reading.left:
        lost = f"{len(reading.left)} of {len(reading.lines)}"
        return f"{readers} ({origin}); if all ranks stop together, {lost} lines are not trained on"
    return f"{readers} ({origin})"


def _grid(reading: model.Reading, top: float) -> list[str]:
    """Draw a row per file and a cell per line, with a stripe for each time that it is read."""
    parts = []
    for file, line in reading.lines:
        x, y = LEFT + line * CELL_WIDTH, top + file * ROW
        if line == 0:
            name = f"file {model.NAMES[file]}"
            parts.append(svg.text(LEFT - 14, y + 15, name, anchor="end", colour=palette.MUTED))
        readers = reading.readers.get((file, line), ())
        names = ", ".join(f"rank {rank}" for rank in readers) or "no rank"
        tip = f"line {line} of file {model.NAMES[file]}: {names}"
        parts.append(svg.rect(x, y, CELL_WIDTH - 4, CELL_HEIGHT, palette.WAIT, tip=tip))
        for number, rank in enumerate(readers):
            width = (CELL_WIDTH - 4) / len(readers)
            colour = palette.rank_colour(rank)
            stripe = x + number * width
            parts.append(svg.rect(stripe, y, width - svg.hair(width), CELL_HEIGHT, colour, tip=tip))
        if (file, line) in reading.left:
            middle = x + (CELL_WIDTH - 4) / 2
            ring = {"stroke": palette.ALARM, "stroke_width": 2}
            parts.append(svg.circle(middle, y + CELL_HEIGHT / 2, 5, palette.CARD, **ring))
    return parts


def _lanes(reading: model.Reading, top: float) -> list[str]:
    """Draw a row of batches for each rank; batches that not all ranks have are pale."""
    width = min(CELL_WIDTH, (RIGHT - LEFT) / max(*reading.batches, 1))
    steps = min(reading.batches)
    parts = []
    for rank, batches in enumerate(reading.batches):
        y, colour = top + rank * ROW, palette.rank_colour(rank)
        name = f"rank {rank}"
        parts.append(svg.text(LEFT - 14, y + 15, name, anchor="end", bold=True, colour=colour))
        for number in range(batches):
            pale = number >= steps
            tip = f"batch {number}" + (": not all ranks have one" if pale else "")
            fill = palette.WAIT if pale else colour
            x = LEFT + number * width
            parts.append(svg.rect(x, y, width - 4 * width / CELL_WIDTH, CELL_HEIGHT, fill, tip=tip))
    return parts


@explorable
def shards(metrics=None) -> Description:
    """Files that ranks and loader workers read: change who shares, see who reads which line.

    `metrics` is the table of a run of lab 04d (`run.metrics`), drawn below. A table without the
    lines that were read is a `CourseError`.
    """
    ran = None if metrics is None else model.measured(metrics.to_dict("records"))

    return partial(draw, measured=ran), {
        "way": Choice("Who shares", model.WAYS, model.NOBODY),
        "ranks": Slider("Ranks", 1, 4, 2),
        "workers": Slider("Loader workers per rank", 0, 3, 2),
        "files": Slider("Files", 1, len(model.SIZES), 4),
    }
