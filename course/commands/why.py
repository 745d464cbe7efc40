"""``python -m course why -- torchrun ... train.py``: where the time of anyone's script goes."""

from collections.abc import Sequence

from course.launch import LIMIT_S
from course.notebook import Live
from course.own import answered, options, watch_ranks


def main(argv: Sequence[str]) -> int:
    """Run the command, watch some steps, say where their time goes; 1 if the script failed."""
    args = options.read(argv, "python -m course why")
    run, told = watch_ranks(args.command, args.steps, args.stop, Live(LIMIT_S))
    answer = answered(run, told)
    if answer is None:
        return 1
    print(f"\n{answer}")
    if args.json:
        answer.write(args.json)
    return 0 if run.ok or args.stop else 1
