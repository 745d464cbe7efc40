"""Wrong answers to the exercises of lab 07."""

from support.mutants import Mutant

OF_MEANS = "[share._replace(whole=len(shares) * len(share.inputs)) for share in shares]"

ADD_UP = """    total = tensors[0].clone()
    for other in tensors[1:]:
        total += other.to(total.device)
    for tensor in tensors:
        tensor.copy_(total)
"""
PAIRS = """        pairs = [copy.deepcopy((self.model, self.optimizer)) for _ in self.devices]
"""
MIRRORED = [
    Mutant("a mean, not a sum", "mirrored", "test_same_as_one_process", "tensor.copy_(total)",
           "tensor.copy_(total / len(tensors))"),
    Mutant("gradients stay where they are", "mirrored", "test_same_as_one_process",
           "            all_reduce([parameter.grad for parameter in copies])", "            pass"),
    Mutant("only the first device has the sum", "mirrored", "test_same_as_one_process", ADD_UP,
           "    for other in tensors[1:]:\n        tensors[0].add_(other.to(tensors[0].device))\n"),
    Mutant("gradients of two steps add up", "mirrored", "test_same_as_one_process",
           "        for mirror in self.mirrors:\n            mirror.zero_grad()\n", ""),
    Mutant("only the first optimizer steps", "mirrored", "test_same_as_one_process",
           "for optimizer in self.optimizers:", "for optimizer in self.optimizers[:1]:"),
    Mutant("model and optimizer are copied apart", "mirrored", "test_same_as_one_process",
           "copy.deepcopy((self.model, self.optimizer)) for",
           "(copy.deepcopy(self.model), copy.deepcopy(self.optimizer)) for"),
    Mutant("all mirrors are one", "mirrored", "test_same_as_one_process",
           "copy.deepcopy((self.model, self.optimizer)) for", "(self.model, self.optimizer) for"),
    Mutant("a mean of the replicas' means", "mirrored", "test_uneven_batches",
           "self.at_once(step, self.mirrors, shares)", f"self.at_once(step, self.mirrors, {OF_MEANS})"),
    Mutant("a replica without samples takes no step", "mirrored", "test_uneven_batches",
           "self.at_once(step, self.mirrors, shares)",
           "self.at_once(lambda m, s: step(m, s) if len(s.inputs) else torch.zeros(()), self.mirrors, shares)"),
    Mutant("frozen parameters take part", "mirrored", "test_tied_and_frozen", "trained(mirror) for",
           "mirror.parameters() for"),
    Mutant("tied parameters are added up twice", "mirrored", "test_tied_and_frozen", "zip(*(trained(mirror) for",
           "zip(*([p for m in mirror.modules() for p in m.parameters(False) if p.requires_grad] for"),
    Mutant("buffers are forgotten", "mirrored", "test_batch_norm", "        self.average_buffers()\n", ""),
    Mutant("buffers are added up", "mirrored", "test_batch_norm", "buffer / len(copies)", "buffer"),
    Mutant("every device adds up in its own order", "mirrored", "test_same_bits", ADD_UP,
           "    sums = [sum(tensors[(i + k) % len(tensors)] for k in range(len(tensors)))"
           " for i in range(len(tensors))]\n"
           "    for tensor, total in zip(tensors, sums):\n        tensor.copy_(total)\n"),
    Mutant("one mirror less than devices", "mirrored", "test_same_bits", PAIRS,
           PAIRS.replace("self.devices", "self.devices[1:] or self.devices")),
    Mutant("one replica after the other", "mirrored", "test_at_once", "self.at_once(step, self.mirrors, shares)",
           "[step(mirror, share) for mirror, share in zip(self.mirrors, shares)]"),
]  # fmt: skip

DOWN = """            for here, there in zip(self.model.state_dict().values(), replica.state_dict().values()):
                there.copy_(here)
"""
SUM = "sum(there.grad.to(self.centre) for there in copies)"
CENTRAL_STORAGE = [
    Mutant("a mean, not a sum", "central_storage", "test_same_as_one_process", SUM, f"{SUM} / len(copies)"),
    Mutant("only one replica's gradients", "central_storage", "test_same_as_one_process", SUM, "copies[0].grad"),
    Mutant("the replicas' gradients of two steps add up", "central_storage", "test_same_as_one_process",
           "            replica.zero_grad()\n", ""),
    Mutant("the centre's gradients of two steps add up", "central_storage", "test_same_as_one_process", SUM,
           f"{SUM} + (0 if parameter.grad is None else parameter.grad)"),
    Mutant("a mean of the replicas' means", "central_storage", "test_uneven_batches",
           "self.at_once(step, self.replicas, shares)", f"self.at_once(step, self.replicas, {OF_MEANS})"),
    Mutant("frozen parameters take part", "central_storage", "test_tied_and_frozen",
           "zip(trained(self.model), *map(trained, self.replicas))",
           "zip(self.model.parameters(), *(replica.parameters() for replica in self.replicas))"),
    Mutant("buffers are added up", "central_storage", "test_batch_norm",
           "sum(there.to(self.centre) for there in copies) / len(copies)",
           "sum(there.to(self.centre) for there in copies)"),
    Mutant("buffers of the first replica", "central_storage", "test_batch_norm",
           "sum(there.to(self.centre) for there in copies) / len(copies)", "copies[0]"),
    Mutant("buffers never come back", "central_storage", "test_batch_norm",
           "sum(there.to(self.centre) for there in copies) / len(copies)", "buffer"),
    Mutant("another model than the scope's is trained", "central_storage", "test_one_set",
           "        self.model.to(self.centre)\n",
           "        self.model = copy.deepcopy(self.model).to(self.centre)\n"),
    Mutant("the replicas use the centre's memory", "central_storage", "test_one_set",
           "copy.deepcopy(self.model).to(device)", "self.model.to(device)"),
    Mutant("variables go out once, at the start", "central_storage", "test_sends_out", DOWN, ""),
    Mutant("buffers do not go out", "central_storage", "test_sends_out",
           "zip(self.model.state_dict().values(), replica.state_dict().values())",
           "zip(self.model.parameters(), replica.parameters())"),
    Mutant("one replica is left out", "central_storage", "test_sends_out",
           "        for replica in self.replicas:\n            replica.zero_grad()",
           "        for replica in self.replicas[1:]:\n            replica.zero_grad()"),
]  # fmt: skip

MINE = "split(batch, self.workers)[self.rank]"
FLAT = """        flat = torch.cat([tensor.flatten().float() for tensor in (*gradients, *buffers)])
        dist.all_reduce(flat)
"""
MULTI_WORKER = [
    Mutant("a mean, not a sum", "multi_worker", "test_same_as_one_process", "gradient.copy_(part.view_as(gradient))",
           "gradient.copy_(part.view_as(gradient) / self.workers)"),
    Mutant("gradients of two steps add up", "multi_worker", "test_same_as_one_process",
           "        self.optimizer.zero_grad()\n", ""),
    Mutant("the sums are thrown away", "multi_worker", "test_same_as_one_process",
           "gradient.copy_(part.view_as(gradient))", "part.view_as(gradient)"),
    Mutant("a mean of the replicas' means", "multi_worker", "test_uneven_batches", "[step(self.model, shares[0])]",
           "[step(self.model, shares[0]._replace(whole=self.workers * len(shares[0].inputs)))]"),
    Mutant("frozen parameters take part", "multi_worker", "test_tied_and_frozen", "for p in trained(self.model)]",
           "for p in self.model.parameters()]"),
    Mutant("buffers are added up", "multi_worker", "test_batch_norm",
           "buffer.copy_(part.view_as(buffer) / self.workers)",
           "buffer.copy_(part.view_as(buffer))"),
    Mutant("each keeps its own buffers", "multi_worker", "test_batch_norm",
           "buffer.copy_(part.view_as(buffer) / self.workers)", "part.view_as(buffer)"),
    Mutant("no common start", "multi_worker", "test_same_start", "dist.broadcast(tensor, src=0)", "pass"),
    Mutant("buffers start as they like", "multi_worker", "test_same_start",
           "for tensor in self.model.state_dict().values():",
           "for tensor in [p.detach() for p in self.model.parameters()]:"),
    Mutant("the last rank's variables", "multi_worker", "test_same_start", "src=0", "src=self.workers - 1"),
    Mutant("every worker takes the whole batch", "multi_worker", "test_shares", MINE, "split(batch, 1)[0]"),
    Mutant("every worker takes the first share", "multi_worker", "test_shares", MINE, "split(batch, self.workers)[0]"),
    Mutant("the whole is only the share", "multi_worker", "test_shares", MINE,
           "split(tuple(tensor.tensor_split(self.workers)[self.rank] for tensor in batch), 1)[0]"),
    Mutant("whole batches are dealt out", "multi_worker", "test_shares", "for batch in loader:\n            yield",
           "for batch in list(loader)[self.rank :: self.workers]:\n            yield"),
    Mutant("a message for each tensor", "multi_worker", "test_one_message", FLAT,
           "        for tensor in (*gradients, *buffers):\n            flat = tensor.float()\n"
           "            dist.all_reduce(flat)\n            tensor.copy_(flat)\n"
           "        flat = torch.cat([tensor.flatten().float() for tensor in (*gradients, *buffers)])\n"),
    Mutant("gradients and buffers apart", "multi_worker", "test_one_message", FLAT,
           FLAT.replace("dist.all_reduce(flat)",
                        "middle = sum(g.numel() for g in gradients)\n        dist.all_reduce(flat[:middle])\n"
                        "        dist.all_reduce(flat[middle:])")),
    Mutant("the sum of this worker", "multi_worker", "test_reduce", "        dist.all_reduce(total)\n", ""),
    Mutant("only rank 0 knows the sum", "multi_worker", "test_reduce", "dist.all_reduce(total)",
           "dist.reduce(total, dst=0)"),
    Mutant("always a mean", "multi_worker", "test_reduce", '(self.num_replicas_in_sync if op == "mean" else 1)',
           "self.num_replicas_in_sync"),
    Mutant("every worker counts one replica", "multi_worker", "test_reduce", "        return self.workers\n",
           "        return 1\n"),
    Mutant("torch does the work", "multi_worker", "test_own_work", "        self.model.to(self.devices[0])\n",
           "        self.model.to(self.devices[0])\n"
           "        self.ddp = torch.nn.parallel.DistributedDataParallel(self.model)\n"),
]  # fmt: skip

SLOWEST = "self.steps[worker] - min(self.steps.values()) <= self.bound"
NOTE = "        self.version += 1\n        self.history.append((worker, version))\n"
PARAMETER_SERVER = [
    Mutant("a worker never reads new weights", "parameter_server", "test_one_worker",
           "gradients)\n        self.read(*self.mail.receive(0))", "gradients)\n        self.mail.receive(0)"),
    Mutant("the server never updates", "parameter_server", "test_one_worker", "        self.optimizer.step()\n", ""),
    Mutant("the server's gradients add up", "parameter_server", "test_one_worker",
           "parameter.grad = part.view_as(parameter)",
           "parameter.grad = part.view_as(parameter) + (0 if parameter.grad is None else parameter.grad)"),
    Mutant("a step of plain SGD, whatever the optimizer", "parameter_server", "test_one_worker",
           "parameter.grad = part.view_as(parameter)",
           "parameter.data -= self.optimizer.param_groups[0]['lr'] * part.view_as(parameter)"),
    Mutant("divided by the number of workers", "parameter_server", "test_history",
           "parameter.grad = part.view_as(parameter)", "parameter.grad = part.view_as(parameter) / self.workers"),
    Mutant("a worker claims to have read version 0", "parameter_server", "test_history",
           "self.mail.send(0, self.version, gradients)", "self.mail.send(0, 0, gradients)"),
    Mutant("versions are not counted", "parameter_server", "test_history", "        self.version += 1\n", ""),
    Mutant("the history notes the version that came of it", "parameter_server", "test_history", NOTE,
           NOTE.replace("(worker, version)", "(worker, self.version)")),
    Mutant("stale gradients are dropped", "parameter_server", "test_history", "        parts = gradients.split(",
           "        if version < self.version:\n            return\n        parts = gradients.split("),
    Mutant("staleness as of today", "parameter_server", "test_staleness",
           "number - version for number, (_, version) in enumerate(self.history)",
           "self.version - version for _, version in self.history"),
    Mutant("staleness counts the update itself", "parameter_server", "test_staleness", "[number - version",
           "[number + 1 - version"),
    Mutant("staleness by worker", "parameter_server", "test_staleness",
           "[number - version for number, (_, version) in enumerate(self.history)]",
           "[version - [v for w, v in self.history if w == worker][0] for worker, version in self.history]"),
    Mutant("everyone waits for everyone", "parameter_server", "test_goes_ahead", SLOWEST,
           "len(set(self.steps.values())) == 1"),
    Mutant("one step less than the bound", "parameter_server", "test_goes_ahead", SLOWEST,
           SLOWEST.replace("<= self.bound", "<= max(0, self.bound - 1)")),
    Mutant("nobody waits", "parameter_server", "test_bound", SLOWEST, "True"),
    Mutant("one step more than the bound", "parameter_server", "test_bound", SLOWEST,
           SLOWEST.replace("self.bound", "self.bound + 1")),
    Mutant("compared with the fastest", "parameter_server", "test_bound", SLOWEST,
           "max(self.steps.values()) - self.steps[worker] <= self.bound"),
    Mutant("a finished worker is waited for", "parameter_server", "test_finished", SLOWEST,
           "self.steps[worker] - min(self.steps.get(w, 0) for w in range(1, self.workers + 1)) <= self.bound"),
]  # fmt: skip

MUTANTS = MIRRORED + CENTRAL_STORAGE + MULTI_WORKER + PARAMETER_SERVER
