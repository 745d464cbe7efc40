"""Wrong answers to the exercises of lab 00."""

from mutants import Mutant

START_HERE = [
    Mutant("a sum, not a mean", "start_here", "test_mean", "    number /= dist.get_world_size()\n", ""),
    Mutant("divided by two", "start_here", "test_mean", "dist.get_world_size()", "2"),
    Mutant("only rank 0 knows", "start_here", "test_mean", "dist.all_reduce(number)", "dist.reduce(number, dst=0)"),
    Mutant("each rank on its own", "start_here", "test_mean", "    dist.all_reduce(number)\n", ""),
    Mutant("a new number", "start_here", "test_mean", "number /= dist", "number = number / dist"),
    Mutant("the largest", "start_here", "test_mean", "dist.all_reduce(number)",
           "dist.all_reduce(number, op=dist.ReduceOp.MAX)"),
    Mutant("rank 0's", "start_here", "test_mean", "dist.all_reduce(number)", "dist.broadcast(number, src=0)"),
    Mutant("divided first, before the sum, and after", "start_here", "test_mean", "    dist.all_reduce(number)\n",
           "    number /= dist.get_world_size()\n    dist.all_reduce(number)\n"),
]  # fmt: skip

MUTANTS = START_HERE
