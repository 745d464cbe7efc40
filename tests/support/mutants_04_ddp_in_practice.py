"""Wrong answers to the exercises of lab 04."""

from support.mutants import Mutant

WRITE = """    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
"""
DEAL = "islice(left, dist.get_rank(), len(self) * dist.get_world_size(), dist.get_world_size())"
GO_ROUND = "cycle(order[self.done:])"
STATES = """    everyones = [None] * dist.get_world_size()
    dist.all_gather_object(everyones, mine)
    return everyones
"""

SNAPSHOT = [
    Mutant("written over the old one", "snapshot", "test_killed", WRITE, "    torch.save(state, path)\n"),
    Mutant("the old one is deleted first", "snapshot", "test_killed", "    os.replace(beside, path)",
           "    path.unlink(missing_ok=True)\n    os.replace(beside, path)"),
    Mutant("copied, not renamed", "snapshot", "test_killed", "    os.replace(beside, path)",
           "    import shutil\n    shutil.copyfile(beside, path)"),
    Mutant("the old one is moved out of the way", "snapshot", "test_killed", "    os.replace(beside, path)",
           '    if path.exists():\n        os.replace(path, path.with_name("old.pt"))\n    os.replace(beside, path)'),
    Mutant("only the weights", "snapshot", "test_reads_back", "torch.save(state, file)",
           'torch.save({"weights": state["weights"]}, file)'),
    Mutant("the name is never given", "snapshot", "test_reads_back", "    os.replace(beside, path)\n", ""),
    Mutant("a new name for every attempt", "snapshot", "test_left_over", 'path.with_name(path.name + ".part")',
           'path.with_name(f"{path.name}.{os.urandom(4).hex()}")'),
    Mutant("not forced to the disk", "snapshot", "test_on_disk", "        os.fsync(file.fileno())\n", ""),
    Mutant("forced to the disk too late", "snapshot", "test_on_disk", WRITE,
           WRITE.replace("        os.fsync(file.fileno())\n", "")
           + '    with open(path, "rb") as file:\n        os.fsync(file.fileno())\n'),
    Mutant("everyone has this rank's state", "snapshot", "test_random_states", STATES,
           "    return [mine] * dist.get_world_size()\n"),
    Mutant("everyone has rank 0's state", "snapshot", "test_random_states", "    return everyones\n",
           "    return everyones[:1] * dist.get_world_size()\n"),
    Mutant("every rank gets all samples", "snapshot", "test_shares", DEAL, "iter(order[self.done:])"),
    Mutant("unequal shares", "snapshot", "test_shares", GO_ROUND, "order[self.done:]"),
    Mutant("goes round once", "snapshot", "test_shares", GO_ROUND,
           "order[self.done:] + order[self.done:][: -(self.size - self.done) % dist.get_world_size()]"),
    Mutant("what does not divide is left out", "snapshot", "test_shares", "len(self) * dist.get_world_size(), dist",
           "(self.size - self.done) // dist.get_world_size() * dist.get_world_size(), dist"),
    Mutant("always two ranks", "snapshot", "test_shares", DEAL, DEAL.replace(", dist.get_world_size())", ", 2)")),
    Mutant("begins the epoch again", "snapshot", "test_goes_on", GO_ROUND, "cycle(order)"),
    Mutant("each rank leaves out as much as all have done", "snapshot", "test_goes_on", DEAL,
           "iter(order[dist.get_rank() :: dist.get_world_size()][self.done:])"),
    Mutant("counts batches of one rank", "snapshot", "test_other_world_size", GO_ROUND,
           "cycle(order[self.done // 2:])"),
    Mutant("the rest depends on the world size", "snapshot", "test_other_world_size", "self.seed + self.epoch)",
           "self.seed + self.epoch + dist.get_world_size())"),
]  # fmt: skip

LOOP = """            with nullcontext() if number == len(window) else self.model.no_sync():
                loss = self.loss(batch) * len(batch["labels"]) / pairs
                loss.backward()
"""

TRAINER = [
    Mutant("the loss is not divided", "trainer", "test_window", ' * len(batch["labels"]) / pairs', ""),
    Mutant("every batch weighs the same", "trainer", "test_window", ' * len(batch["labels"]) / pairs',
           " / len(window)"),
    Mutant("divided by the world size once more", "trainer", "test_window", "/ pairs", "/ pairs / self.world_size"),
    Mutant("nobody communicates", "trainer", "test_window", "nullcontext() if number == len(window) else ", ""),
    Mutant("the first backward communicates, not the last", "trainer", "test_window", "number == len(window)",
           "number == 1"),
    Mutant("off by one: the last is quiet", "trainer", "test_window", "enumerate(window, start=1)",
           "enumerate(window)"),
    Mutant("every backward communicates", "trainer", "test_quiet",
           "nullcontext() if number == len(window) else self.model.no_sync()", "nullcontext()"),
    Mutant("no_sync around the backward only", "trainer", "test_quiet", LOOP,
           '            loss = self.loss(batch) * len(batch["labels"]) / pairs\n'
           "            with nullcontext() if number == len(window) else self.model.no_sync():\n"
           "                loss.backward()\n"),
    Mutant("the first step has a rate of 0", "trainer", "test_warm_up", "(step + 1)", "step"),
    Mutant("rises for ever", "trainer", "test_warm_up", "min(1.0, (step + 1) / max(1, self.args.warmup))",
           "(step + 1) / max(1, self.args.warmup)"),
    Mutant("divides by a warm-up of 0", "trainer", "test_warm_up", "max(1, self.args.warmup)", "self.args.warmup"),
    Mutant("the optimizer begins anew", "trainer", "test_goes_on",
           '("optimizer", self.optimizer), ', ""),
    Mutant("rank 0's random state for all", "trainer", "test_goes_on", "snapshot.random_states()",
           "snapshot.random_states()[:1] * self.world_size"),
    Mutant("random states are left out", "trainer", "test_goes_on", '"random": snapshot.random_states(),',
           '"random": [],'),
    Mutant("the epoch begins again", "trainer", "test_goes_on", '"done": self.done,', '"done": 0,'),
    Mutant("one step less", "trainer", "test_goes_on", '"step": self.step,', '"step": self.step - 1,'),
    Mutant("no schedule", "trainer", "test_goes_on", '"schedule": self.schedule.state_dict(),',
           '"schedule": torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.share_of_rate).state_dict(),'),
    Mutant("the wrapped model is saved", "trainer", "test_bare", "self.model.module.state_dict()",
           "self.model.state_dict()"),
    Mutant("evaluated with the padding sampler", "trainer", "test_evaluate",
           "range(self.rank, len(self.validation), self.world_size)",
           "torch.utils.data.DistributedSampler(self.validation, shuffle=False)"),
    Mutant("the loss is a sum of means", "trainer", "test_evaluate", 'output.loss * len(batch["labels"])',
           "output.loss"),
    Mutant("this rank's share only", "trainer", "test_evaluate", "        dist.all_reduce(totals)\n", ""),
    Mutant("left in evaluation mode", "trainer", "test_evaluate", "        self.model.train()\n", ""),
]  # fmt: skip

VOTE = """    vote = torch.tensor(float(batch is not None))
    dist.all_reduce(vote, dist.ReduceOp.MIN)
    return bool(vote)
"""

HANGS = [
    Mutant("an if and a forward confused", "cured_hangs", "test_causes", '"validation": CAUSES[1], "mean": CAUSES[0]',
           '"validation": CAUSES[0], "mean": CAUSES[1]'),
    Mutant("a run is forgotten", "cured_hangs", "test_causes", ', "leftover": CAUSES[3]', ""),
    Mutant("through DDP", "cured_hangs", "test_validation", "model.module(batch)", "model(batch)"),
    Mutant("in training mode", "cured_hangs", "test_validation", "        loss = model.module(batch)",
           "        loss = model.module.train()(batch)"),
    Mutant("this rank's loss, not the mean", "cured_hangs", "test_mean", "    dist.all_reduce(mean)\n", ""),
    Mutant("a sum, not a mean", "cured_hangs", "test_mean", "mean.item() / dist.get_world_size()", "mean.item()"),
    Mutant("the loss is overwritten", "cured_hangs", "test_mean", "mean = loss.clone()", "mean = loss"),
    Mutant("still in an if", "cured_hangs", "test_mean", "    dist.all_reduce(mean)\n",
           "    if dist.get_rank() == 0:\n        dist.all_reduce(mean)\n"),
    Mutant("in the order of the dict", "cured_hangs", "test_order", "in sorted(metrics)", "in metrics"),
    Mutant("new tensors, thrown away", "cured_hangs", "test_order", "dist.all_reduce(metrics[name])",
           "dist.all_reduce(metrics[name].clone())"),
    Mutant("each for itself", "cured_hangs", "test_skipping", "    dist.all_reduce(vote, dist.ReduceOp.MIN)\n", ""),
    Mutant("one that has a batch is enough", "cured_hangs", "test_skipping", "dist.ReduceOp.MIN", "dist.ReduceOp.MAX"),
    Mutant("rank 0 decides", "cured_hangs", "test_skipping", "dist.all_reduce(vote, dist.ReduceOp.MIN)",
           "dist.broadcast(vote, src=0)"),
    Mutant("as many batches as the shortest has", "cured_hangs", "test_uneven",
           "    with Join([model]):\n        for batch in batches:",
           "    least = torch.tensor(len(batches))\n    dist.all_reduce(least, dist.ReduceOp.MIN)\n"
           "    with Join([model]):\n        for batch in batches[:least]:"),
    Mutant("each rank by itself", "cured_hangs", "test_uneven", "    with Join([model]):", "    with model.no_sync():"),
]  # fmt: skip

FAILS = [
    Mutant("shapes and heads confused", "cured_fails", "test_causes", '"predictions": CAUSES[0], "heads": CAUSES[1]',
           '"predictions": CAUSES[1], "heads": CAUSES[0]'),
    Mutant("everyone downloads", "cured_fails", "test_fetch",
           "    if dist.get_rank() == 0:\n        download(path)\n", "    download(path)\n"),
    Mutant("only rank 0 reads", "cured_fails", "test_fetch", "return path.read_text()",
           'return path.read_text() if dist.get_rank() == 0 else ""'),
    Mutant("others wait until there is a file", "cured_fails", "test_fetch", "    dist.barrier()\n    return path",
           "    while not path.exists():\n        pass\n    return path"),
    Mutant("the barrier comes first", "cured_fails", "test_fetch",
           "    if dist.get_rank() == 0:\n        download(path)\n    dist.barrier()\n",
           "    dist.barrier()\n    if dist.get_rank() == 0:\n        download(path)\n"),
    Mutant("the padding stays", "cured_fails", "test_gather", "other[:length] for", "other for"),
    Mutant("cut to this rank's length", "cured_fails", "test_gather", "other[:length] for", "other[: len(mine)] for"),
    Mutant("becomes floating point", "cured_fails", "test_gather", "mine.new_zeros(max(lengths))",
           "torch.zeros(max(lengths))"),
    Mutant("as it was", "cured_fails", "test_wrap", "(model, find_unused_parameters=True)", "(model)"),
    Mutant("a static graph, which it is not", "cured_fails", "test_wrap", "find_unused_parameters=True",
           "static_graph=True"),
    Mutant("not wrapped", "cured_fails", "test_wrap",
           "DistributedDataParallel(model, find_unused_parameters=True)", "model"),
    Mutant("every rank saves", "cured_fails", "test_save", "    if dist.get_rank() == 0:\n        beside",
           "    if True:\n        beside"),
    Mutant("written over the old one", "cured_fails", "test_save", 'beside = path.with_name(path.name + ".part")',
           "beside = path"),
    Mutant("nobody waits", "cured_fails", "test_save", "        os.replace(beside, path)\n    dist.barrier()\n",
           "        os.replace(beside, path)\n"),
]  # fmt: skip

LIES = [
    Mutant("two causes confused", "cured_lies", "test_causes", '"averaging": CAUSES[0], "metrics": CAUSES[3]',
           '"averaging": CAUSES[3], "metrics": CAUSES[0]'),
    Mutant("never told", "cured_lies", "test_epochs", "loader.sampler.set_epoch(epoch)", "pass"),
    Mutant("always told the last one", "cured_lies", "test_epochs", "set_epoch(epoch)", "set_epoch(epochs)"),
    Mutant("ranks in different epochs", "cured_lies", "test_epochs", "set_epoch(epoch)",
           "set_epoch(epoch + dist.get_rank())"),
    Mutant("the mean of this rank", "cured_lies", "test_mean_loss",
           "losses.sum() * dist.get_world_size() / count", "losses.mean()"),
    Mutant("DDP's division is forgotten", "cured_lies", "test_mean_loss",
           "losses.sum() * dist.get_world_size() / count", "losses.sum() / count"),
    Mutant("a sum", "cured_lies", "test_mean_loss", "losses.sum() * dist.get_world_size() / count",
           "losses.sum() * dist.get_world_size()"),
    Mutant("everyone opens the file", "cured_lies", "test_write_lines", "    if dist.get_rank() == 0:\n",
           "    everyones = [lines]\n    if True:\n"),
    Mutant("appended to an older run", "cured_lies", "test_write_lines",
           '        path.write_text("".join(f"{line}\\n" for lines in everyones for line in lines))',
           '        with path.open("a") as file:\n'
           '            file.write("".join(f"{line}\\n" for lines in everyones for line in lines))'),
    Mutant("nobody waits", "cured_lies", "test_write_lines", "    dist.barrier()\n",
           ""),
    Mutant("the fastest", "cured_lies", "test_slowest", "rank = max(range", "rank = min(range"),
    Mutant("each takes itself for the slowest", "cured_lies", "test_slowest",
           "rank = max(range(len(times)), key=lambda rank: times[rank])", "rank = dist.get_rank()"),
    Mutant("the slowest counts among the others", "cured_lies", "test_slowest", "if other != rank]", "if True]"),
]  # fmt: skip

MUTANTS = SNAPSHOT + TRAINER + HANGS + FAILS + LIES
