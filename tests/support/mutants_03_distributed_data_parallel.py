"""Wrong answers to the exercises of lab 03."""

from support.mutants import Mutant

SETUP = """        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
"""
SHARE = "range(dist.get_rank(), len(dataset), dist.get_world_size())"
LOOP = """        for parameter in self.trained:
            flat = pack([parameter])
            dist.all_reduce(flat)
            unpack(flat / self.world_size, [parameter])
"""
FLAT = """        flat = pack(self.trained)
        dist.all_reduce(flat)
        unpack(flat / self.world_size, self.trained)
"""
READY = """        while len(self.sent) < len(self.buckets) and self.missing[len(self.sent)] == 0:
            self.send(self.buckets[len(self.sent)])
"""
FINISH = """        for bucket in self.buckets[len(self.sent):]:
            self.send(bucket)
        for work, flat, bucket in self.sent:
            work.wait()
            unpack(flat / self.world_size, bucket)
        self.reset()
"""

DDP = [
    Mutant("each rank on its own", "ddp", "test_joins", 'dist.init_process_group("gloo")',
           'dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())'),
    Mutant("the global rank picks the GPU", "ddp", "test_gpu", 'os.environ["LOCAL_RANK"]', 'os.environ["RANK"]'),
    Mutant("every rank on the first GPU", "ddp", "test_gpu", 'int(os.environ["LOCAL_RANK"])', "0"),
    Mutant("the GPU is not made current", "ddp", "test_gpu", "        torch.cuda.set_device(device)\n", ""),
    Mutant("Gloo on GPUs", "ddp", "test_gpu", '"nccl"', '"gloo"'),
    Mutant("device_ids on the CPU", "ddp", "test_wrap", ' if device.type == "cuda" else None', ""),
    Mutant("no device_ids on GPUs", "ddp", "test_wrap", '[device] if device.type == "cuda" else None', "None"),
    Mutant("every rank sees all the data", "ddp", "test_shares", "BATCH, sampler=sampler)",
           "BATCH, sampler=torch.utils.data.RandomSampler(dataset))"),
    Mutant("every rank gets rank 0's share", "ddp", "test_shares", "DistributedSampler(dataset, shuffle=shuffle)",
           "DistributedSampler(dataset, shuffle=shuffle, rank=0)"),
    Mutant("never shuffled", "ddp", "test_reshuffles", "DistributedSampler(dataset, shuffle=shuffle)",
           "DistributedSampler(dataset, shuffle=False)"),
    Mutant("no set_epoch", "ddp", "test_reshuffles", "batches.sampler.set_epoch(epoch)", "pass"),
    Mutant("always the same epoch", "ddp", "test_reshuffles", "set_epoch(epoch)", "set_epoch(epochs)"),
    Mutant("not wrapped", "ddp", "test_same_weights", "model = wrap(bert().to(device), device)",
           "model = bert().to(device)"),
    Mutant("wrapped, but the bare model is trained", "ddp", "test_same_weights",
           "batches = loader(train, shuffle=True)",
           "model, batches = model.module, loader(train, shuffle=True)"),
    Mutant("gradients divided once more", "ddp", "test_same_as_one_process", "            loss.backward()",
           "            (loss / dist.get_world_size()).backward()"),
    Mutant("gradients of several steps add up", "ddp", "test_same_as_one_process",
           "            optimizer.zero_grad()\n", ""),
    Mutant("evaluated with the padding sampler", "ddp", "test_accuracy", SHARE,
           "DistributedSampler(dataset, shuffle=False)"),
    Mutant("every rank evaluates all pairs", "ddp", "test_accuracy", SHARE, "range(len(dataset))"),
    Mutant("the accuracy of this rank's share only", "ddp", "test_accuracy", "    dist.all_reduce(right)\n", ""),
    Mutant("the mean of the ranks' accuracies", "ddp", "test_accuracy",
           "    dist.all_reduce(right)\n    return right.item() / len(dataset)",
           "    right /= len(share)\n    dist.all_reduce(right)\n    return right.item() / dist.get_world_size()"),
    Mutant("only rank 0 knows the accuracy", "ddp", "test_accuracy",
           "dist.all_reduce(right)", "dist.reduce(right, dst=0)"),
    Mutant("left in evaluation mode", "ddp", "test_trains_on", "    model.train()\n", ""),
]  # fmt: skip

MY_DDP = [
    Mutant("no common start", "my_ddp", "test_same_start", "dist.broadcast(tensor.detach(), src=0)", "pass"),
    Mutant("buffers are forgotten", "my_ddp", "test_same_start",
           "[*self.module.parameters(), *self.module.buffers()]", "self.module.parameters()"),
    Mutant("the last rank's weights win", "my_ddp", "test_same_start", "src=0", "src=self.world_size - 1"),
    Mutant("the average of the starts", "my_ddp", "test_same_start", "dist.broadcast(tensor.detach(), src=0)",
           "dist.all_reduce(tensor.detach()); tensor.detach().div_(self.world_size)"),
    Mutant("only trained parameters are sent", "my_ddp", "test_same_start",
           "[*self.module.parameters(), *self.module.buffers()]", "self.trained"),
    Mutant("a sum, not an average", "my_ddp", "test_average", "unpack(flat / self.world_size, [parameter])",
           "unpack(flat, [parameter])"),
    Mutant("divided by two, whatever the world size", "my_ddp", "test_average",
           "unpack(flat / self.world_size, self.trained)", "unpack(flat / 2, self.trained)"),
    Mutant("averaged over the messages sent so far", "my_ddp", "test_average", LOOP,
           LOOP.replace("flat / self.world_size", "flat / self.world_size / self.world_size")),
    Mutant("the averages are thrown away", "my_ddp", "test_average", FLAT, FLAT.replace("unpack", "(lambda *_: None)")),
    Mutant("the last parameter is lost", "my_ddp", "test_average", "for parameter in self.trained:",
           "for parameter in self.trained[:-1]:"),
    Mutant("the parameter is averaged, not its gradient", "my_ddp", "test_average", FLAT,
           "        for p in self.trained:\n            dist.all_reduce(p.data)\n"
           "            p.data /= self.world_size\n"),
    Mutant("parameters without a gradient are skipped", "my_ddp", "test_unused", LOOP,
           LOOP.replace("            flat = pack", "            if parameter.grad is None:\n                continue\n"
                        "            flat = pack")),
    Mutant("unused parameters get a gradient of zeros", "my_ddp", "test_unused",
           "        flat = pack(self.trained)\n        dist.all_reduce(flat)\n",
           "        for p in self.trained:\n            p.grad = torch.zeros_like(p) if p.grad is None else p.grad\n"
           "        flat = pack(self.trained)\n        dist.all_reduce(flat)\n"),
    Mutant("no_sync does nothing", "my_ddp", "test_accumulation",
           "        self.sync = False\n", "        self.sync = True\n"),
    Mutant("no_sync never ends", "my_ddp", "test_accumulation",
           "            self.sync = True", "            self.sync = False"),
    Mutant("Flat sends a message for each parameter", "my_ddp", "test_messages", FLAT, LOOP),
    Mutant("frozen parameters take part", "my_ddp", "test_tied_and_frozen",
           "[p for p in model.parameters() if p.requires_grad]",
           "[p.requires_grad_() for p in model.parameters()]"),
    Mutant("torch does the work", "my_ddp", "test_own_work", "        self.same_start()",
           "        self.same_start()\n        self.ddp = torch.nn.parallel.DistributedDataParallel(model)"),
    Mutant("weighted by the size of the ranks' batches", "my_ddp", "test_uneven_batches", FLAT,
           FLAT.replace("dist.all_reduce(flat)", "flat *= 1 + dist.get_rank()\n        dist.all_reduce(flat)\n"
                        "        flat *= 2 / (1 + self.world_size)")),
    Mutant("one rank is too few", "my_ddp", "test_one_rank", "flat / self.world_size, self.trained",
           "flat / max(self.world_size, 2), self.trained"),
    Mutant("the second step adds to the first", "my_ddp", "test_same_as_one_process", FLAT,
           "        self.kept = pack(self.trained) + getattr(self, 'kept', 0)\n        flat = self.kept.clone()\n"
           "        dist.all_reduce(flat)\n        unpack(flat / self.world_size, self.trained)\n"),
]  # fmt: skip

MY_BUCKETS = [
    Mutant("the parameter is sent, not its gradient", "my_buckets", "test_average", "flat = pack(bucket)",
           "flat = pack([nn.Parameter(p.detach()) for p in bucket])"),
    Mutant("a sum, not an average", "my_buckets", "test_average", "flat / self.world_size", "flat"),
    Mutant("the averages are thrown away", "my_buckets", "test_average",
           "unpack(flat / self.world_size, bucket)", "pass"),
    Mutant("everything waits for the end of backward", "my_buckets", "test_starts_during_backward",
           READY, "        pass\n"),
    Mutant("backward waits for each message", "my_buckets", "test_starts_during_backward",
           "dist.all_reduce(flat, async_op=True)", "(dist.all_reduce(flat), dist.barrier(async_op=True))[1]"),
    Mutant("buckets go as they come", "my_buckets", "test_unused", READY,
           "        if self.missing[self.bucket_of[parameter]] == 0:\n"
           "            self.send(self.buckets[self.bucket_of[parameter]])\n"),
    Mutant("buckets that were never complete are forgotten", "my_buckets", "test_unused",
           "        for bucket in self.buckets[len(self.sent):]:\n            self.send(bucket)\n", ""),
    Mutant("no reset: only the first step communicates", "my_buckets", "test_same_as_one_process",
           "            unpack(flat / self.world_size, bucket)\n        self.reset()",
           "            unpack(flat / self.world_size, bucket)"),
    Mutant("the counts are not reset", "my_buckets", "test_starts_again",
           "            unpack(flat / self.world_size, bucket)\n        self.reset()",
           "            unpack(flat / self.world_size, bucket)\n        self.sent = []"),
    Mutant("one rank is too few", "my_buckets", "test_one_rank", "flat / self.world_size",
           "flat / max(self.world_size, 2)"),
    Mutant("weighted by the size of the ranks' batches", "my_buckets", "test_uneven_batches", "flat = pack(bucket)",
           "flat = pack(bucket) * (2 + 2 * dist.get_rank()) / (1 + self.world_size)"),
    Mutant("hooks on frozen parameters", "my_buckets", "test_tied_and_frozen",
           "        for parameter in self.trained:\n            parameter.register",
           "        for parameter in self.module.parameters():\n            parameter.register"),
    Mutant("a bucket goes when its first gradient comes", "my_buckets", "test_average",
           "self.missing[self.bucket_of[parameter]] -= 1", "self.missing[self.bucket_of[parameter]] = 0"),
    Mutant("no_sync is ignored in the hook", "my_buckets", "test_accumulation",
           '        """Autograd calls it when `parameter.grad` is complete."""\n        if not self.sync:\n'
           "            return\n",
           '        """Autograd calls it when `parameter.grad` is complete."""\n'),
    Mutant("finish waits for the first bucket only", "my_buckets", "test_average", FINISH,
           FINISH.replace("in self.sent:", "in self.sent[:1]:")),
    Mutant("a message for each parameter", "my_buckets", "test_messages", "            if not buckets or size > room:",
           "            if True:"),
    Mutant("one bucket, whatever the cap", "my_buckets", "test_assign", "not buckets or size > room", "not buckets"),
    Mutant("first layer first", "my_buckets", "test_assign",
           "        for parameter in reversed(self.trained):\n            size",
           "        for parameter in self.trained:\n            size"),
    Mutant("closed one parameter too late", "my_buckets", "test_assign", "size > room", "room <= 0"),
    Mutant("bytes and elements are confused", "my_buckets", "test_assign",
           "parameter.numel() * parameter.element_size()", "parameter.numel()"),
    Mutant("frozen parameters get a place", "my_buckets", "test_assign",
           "        for parameter in reversed(self.trained):\n            size",
           "        for parameter in reversed(list(self.module.parameters())):\n            size"),
    Mutant("torch does the work", "my_buckets", "test_own_work",
           "        self.reset()\n        for parameter in self.trained:",
           "        self.ddp = nn.parallel.DistributedDataParallel(model)\n        self.reset()\n"
           "        for parameter in self.trained:"),
]  # fmt: skip

MUTANTS = DDP + MY_DDP + MY_BUCKETS
