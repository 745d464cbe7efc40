"""Wrong answers to the exercises of lab 08."""

from support.mutants import Mutant

WARM_UP = "    for _ in range(warmup):\n        step()\n"
SLOWEST = "over_ranks(seconds, dist.ReduceOp.MAX)"

BENCHMARK = [
    Mutant("no warm-up", "benchmark", "test_warm_up", WARM_UP, ""),
    Mutant("one step is enough to warm up", "benchmark", "test_warm_up", "range(warmup)", "range(min(warmup, 1))"),
    Mutant("the first round is dropped instead", "benchmark", "test_rounds", "for seconds in times]",
           "for seconds in times[1:]]"),
    Mutant("one step a round", "benchmark", "test_rounds", "for _ in range(steps)", "for _ in range(1)"),
    Mutant("the clock stops before the device", "benchmark", "test_synchronizes",
           "        synchronize()\n        times", "        times"),
    Mutant("the clock starts before the device is idle", "benchmark", "test_starts_clean",
           "        synchronize()\n        dist.barrier()", "        dist.barrier()"),
    Mutant("everyone starts when ready", "benchmark", "test_starts_together", "        dist.barrier()\n", ""),
    Mutant("the barrier is timed too", "benchmark", "test_starts_together",
           "        dist.barrier()\n        start = time.perf_counter()\n",
           "        start = time.perf_counter()\n        dist.barrier()\n"),
    Mutant("each rank's own time", "benchmark", "test_slowest", SLOWEST, "seconds"),
    Mutant("the fastest rank's time", "benchmark", "test_slowest", SLOWEST, "over_ranks(seconds, dist.ReduceOp.MIN)"),
    Mutant("the mean of the ranks' times", "benchmark", "test_slowest", SLOWEST,
           "(over_ranks(seconds) / dist.get_world_size())"),
    Mutant("only rank 0's samples", "benchmark", "test_all_samples", "over_ranks(samples * steps)",
           "samples * steps"),
    Mutant("this rank's samples times the ranks", "benchmark", "test_all_samples", "over_ranks(samples * steps)",
           "samples * steps * dist.get_world_size()"),
    Mutant("the mean instead of the median", "benchmark", "test_summary", "    return median, low, high",
           "    return sum(rates) / len(rates), low, high"),
    Mutant("the best instead of the median", "benchmark", "test_summary", "    return median, low, high",
           "    return max(rates), low, high"),
    Mutant("the extremes instead of the middle half", "benchmark", "test_summary", "    return median, low, high",
           "    return median, min(rates), max(rates)"),
]  # fmt: skip

EFFICIENCY = [
    Mutant("the speed-up", "efficiency", "test_efficiency", "rate / (ranks * rates[1])", "rate / rates[1]"),
    Mutant("upside down", "efficiency", "test_efficiency", "rate / (ranks * rates[1])", "ranks * rates[1] / rate"),
    Mutant("against the ranks before", "efficiency", "test_efficiency", "rate / (ranks * rates[1])",
           "rate / (2 * rates.get(ranks // 2, rate / 2))"),
    Mutant("percent", "efficiency", "test_efficiency", "rate / (ranks * rates[1])", "100 * rate / (ranks * rates[1])"),
    Mutant("what is lost", "efficiency", "test_efficiency", "rate / (ranks * rates[1])",
           "1 - rate / (ranks * rates[1])"),
    Mutant("the parallel share", "efficiency", "test_karp_flatt", "(1 / speedup - 1 / ranks)", "(1 - 1 / speedup)"),
    Mutant("for two ranks only", "efficiency", "test_karp_flatt", "/ (1 - 1 / ranks)", "/ (1 - 1 / 2)"),
    Mutant("not divided", "efficiency", "test_karp_flatt", " / (1 - 1 / ranks)", ""),
    Mutant("one minus the efficiency", "efficiency", "test_karp_flatt",
           "return (1 / speedup - 1 / ranks) / (1 - 1 / ranks)", "return 1 - speedup / ranks"),
]  # fmt: skip

HIDES = "min(hidden * comm, BACKWARD * compute)"
TWO_RINGS = "ring(size, gpus, inside) + ring(size / gpus, nodes, shared)"

PREDICT = [
    Mutant("through the first two points", "predict", "test_fit", "    mean_batch =",
           "    points = points[:2]\n    mean_batch ="),
    Mutant("through the origin", "predict", "test_fit", "return mean_seconds - each * mean_batch, each",
           "return 0.0, mean_seconds / mean_batch"),
    Mutant("the mean as the fixed part", "predict", "test_fit", "mean_seconds - each * mean_batch, each",
           "mean_seconds, each"),
    Mutant("through the outermost points", "predict", "test_fit", "    mean_batch =",
           "    points = [points[0], points[-1]]\n    mean_batch ="),
    Mutant("whole buffers between the nodes", "predict", "test_hierarchical", "ring(size / gpus, nodes, shared)",
           "ring(size, nodes, shared)"),
    Mutant("a port for each GPU", "predict", "test_hierarchical", "network.beta * gpus", "network.beta"),
    Mutant("one ring over all", "predict", "test_hierarchical", TWO_RINGS, "ring(size, nodes * gpus, shared)"),
    Mutant("no way back inside the node", "predict", "test_hierarchical", "ring(size, gpus, inside) +",
           "ring(size, gpus, inside) / 2 +"),
    Mutant("the links are confused", "predict", "test_hierarchical", "ring(size, gpus, inside) +",
           "ring(size, gpus, network) +"),
    Mutant("everything may hide", "predict", "test_step", HIDES, "min(comm, BACKWARD * compute)"),
    Mutant("behind the whole step", "predict", "test_step", HIDES, "min(hidden * comm, compute)"),
    Mutant("it always finds room", "predict", "test_step", HIDES, "hidden * comm"),
    Mutant("nothing hides", "predict", "test_step", f" - {HIDES}", ""),
]  # fmt: skip

MUTANTS = BENCHMARK + EFFICIENCY + PREDICT
