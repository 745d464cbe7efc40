"""Wrong answers to the exercises of lab 06."""

from support.mutants import Mutant

HEAR = """        self.heard.setdefault(request.key, {})[rank] = request
        self.since.setdefault(request.key, now)
"""
REQUESTS = "tuple(by_rank[rank] for rank in sorted(by_rank))"
SHAPES = '"shape": [tuple(shape[ragged:] for shape in r.shapes) for r in requests],'
FITS = "alike[i] == key and request.bytes <= room[i]"
KEY = "key = (request.kind, request.dtype, request.device, request.op, request.factors)"
PACK = "return torch.cat([tensor.flatten() for tensor in tensors], out=flat)"
COPY = (
    "torch._foreach_copy_(tensors, [part.view_as(tensor) for part, tensor in zip(parts, tensors)])"
)
BROADCASTS = """    for handle in [broadcast_async_(tensor, root_rank, name) for name, tensor in pairs]:
        synchronize(handle)
"""
ROOM = "data = torch.empty(int(length), dtype=torch.uint8)"
COMPRESS = "zip(*(self._compression.compress(p.grad) for p in group))"
NAME = "name=self._names[group[0]]"
FACTORS = "prescale_factor=before, postscale_factor=after"
READY = """        if not any(self._passes_left[member] for member in group):
            self._send(group)
"""
MISSING = """                if group not in self._sent:
                    self._send(group)
"""

NEGOTIATION = [
    Mutant("matched by order, not by name", "hvd_negotiation", "test_by_name", HEAR,
           "        place = str(sum(rank in by_rank for by_rank in self.heard.values())), 1\n"
           + HEAR.replace("request.key", "place")),
    Mutant("requests in the order in which they were heard", "hvd_negotiation", "test_by_name", REQUESTS,
           "tuple(by_rank.values())"),
    Mutant("answered as soon as anybody asks", "hvd_negotiation", "test_waits_for_all",
           "len(requests) == self.world_size", "requests"),
    Mutant("answers are given again and again", "hvd_negotiation", "test_waits_for_all",
           "                del self.heard[key], self.since[key]\n", ""),
    Mutant("a name has one use", "hvd_negotiation", "test_uses",
           HEAR, HEAR.replace("request.key", "(request.name, 1)")),
    Mutant("in order of the alphabet", "hvd_negotiation", "test_order", "list(self.heard.items())",
           "sorted(self.heard.items())"),
    Mutant("a refusal waits for the others", "hvd_negotiation", "test_fault",
           "if fault or len(requests) == self.world_size:", "if len(requests) == self.world_size:"),
    Mutant("the reason of a refusal is lost", "hvd_negotiation", "test_fault", "fault or disagreement(requests)",
           "disagreement(requests)"),
    Mutant("elements are compared, not shapes", "hvd_negotiation", "test_disagreement", SHAPES,
           '"shape": [r.bytes if not ragged else 0 for r in requests],'),
    Mutant("factors are not compared", "hvd_negotiation", "test_disagreement",
           '"scale factors": [r.factors for r in requests],', ""),
    Mutant("it does not say who has what", "hvd_negotiation", "test_disagreement",
           "the ranks differ in {aspect}: {each}", "the ranks differ in {aspect}"),
    Mutant("rows have to be equal everywhere", "hvd_negotiation", "test_rows_may_differ",
           'ragged = requests[0].kind in ("allgather", "alltoall")', "ragged = False"),
    Mutant("splits have to be equal", "hvd_negotiation", "test_rows_may_differ", SHAPES,
           SHAPES + '\n        "splits": [r.splits for r in requests],'),
    Mutant("patience begins anew with each rank", "hvd_negotiation", "test_missing",
           "self.since.setdefault(request.key, now)", "self.since[request.key] = now"),
]  # fmt: skip

FUSION = [
    Mutant("a message never becomes full", "hvd_fusion", "test_threshold", "            room[i] -= request.bytes\n",
           "            pass\n"),
    Mutant("an exact fit is refused", "hvd_fusion", "test_threshold", "request.bytes <= room[i]",
           "request.bytes < room[i]"),
    Mutant("the first of a message is not counted", "hvd_fusion", "test_threshold",
           "room.append(threshold - request.bytes)", "room.append(threshold)"),
    Mutant("no threshold", "hvd_fusion", "test_off", FITS, "alike[i] == key"),
    Mutant("dtypes are mixed", "hvd_fusion", "test_alike", KEY, KEY.replace("request.dtype, ", "")),
    Mutant("factors are mixed", "hvd_fusion", "test_alike", KEY, KEY.replace(", request.factors", "")),
    Mutant("broadcasts share messages", "hvd_fusion", "test_others_alone", ' if request.kind == "allreduce" else None',
           ""),
    Mutant("only the last message is open", "hvd_fusion", "test_looks_ahead", "range(len(batches))",
           "range(len(batches))[-1:]"),
    Mutant("the last message first", "hvd_fusion", "test_looks_ahead", "    return batches\n",
           "    return batches[::-1]\n"),
    Mutant("new memory for each message", "hvd_fusion", "test_pack", PACK, PACK.replace(", out=flat", "")),
    Mutant("the buffer is made to fit", "hvd_fusion", "test_pack", PACK, PACK.replace("flat)", "buffer)")),
    Mutant("the tensors become parts of the buffer", "hvd_fusion", "test_unpack", COPY,
           "for tensor, part in zip(tensors, parts):\n        tensor.set_(part.view_as(tensor))"),
    Mutant("new tensors in the list instead of new values", "hvd_fusion", "test_unpack", COPY,
           "tensors[:] = [part.view_as(tensor).clone() for part, tensor in zip(parts, tensors)]"),
]  # fmt: skip

STATE = [
    Mutant("the root is always rank 0", "hvd_state", "test_parameters", BROADCASTS,
           BROADCASTS.replace("root_rank", "0")),
    Mutant("copies are overwritten", "hvd_state", "test_parameters", BROADCASTS,
           BROADCASTS.replace("(tensor,", "(tensor.clone(),")),
    Mutant("names are dropped", "hvd_state", "test_parameters",
           BROADCASTS, BROADCASTS.replace("root_rank, name", "root_rank")),
    Mutant("one broadcast after another", "hvd_state", "test_together", BROADCASTS,
           "    for name, tensor in pairs:\n        synchronize(broadcast_async_(tensor, root_rank, name))\n"),
    Mutant("room for one's own object", "hvd_state", "test_object", ROOM,
           "data = torch.empty(len(pickle.dumps(obj)), dtype=torch.uint8)"),
    Mutant("room for a hundred bytes", "hvd_state", "test_object", ROOM, "data = torch.empty(100, dtype=torch.uint8)"),
    Mutant("the length goes twice", "hvd_state", "test_object_messages",
           "    broadcast_(data, root_rank, f\"{name}.data\")\n",
           "    broadcast_(length, root_rank, f\"{name}.again\")\n    broadcast_(data, root_rank, f\"{name}.data\")\n"),
    Mutant("the learning rate stays", "hvd_state", "test_optimizer", "optimizer.load_state_dict(state)",
           "optimizer.load_state_dict(state | {\"param_groups\": optimizer.state_dict()[\"param_groups\"]})"),
    Mutant("the momenta stay", "hvd_state", "test_optimizer", "optimizer.load_state_dict(state)",
           "optimizer.load_state_dict(state | {\"state\": optimizer.state_dict()[\"state\"]})"),
    Mutant("only the root loads", "hvd_state", "test_optimizer",
           "    if rank() != root_rank:\n        optimizer.load_state_dict(state)",
           "    if rank() == root_rank:\n        optimizer.load_state_dict(state)"),
]  # fmt: skip

OPTIMIZER = [
    Mutant("a sum, not an average", "hvd_optimizer", "test_average", "op=self._op", 'op="Sum"'),
    Mutant("the parameter is sent, not its gradient", "hvd_optimizer", "test_average", COMPRESS,
           COMPRESS.replace("p.grad", "p.data.clone()")),
    Mutant("step does not wait", "hvd_optimizer", "test_same_as_one_process",
           "        if self._should_synchronize:\n            self.synchronize()\n", ""),
    Mutant("everything waits for synchronize", "hvd_optimizer", "test_during_backward", READY, ""),
    Mutant("backward waits for each operation", "hvd_optimizer", "test_during_backward",
           "        self._sent[group] = handle, tensors, dtypes\n",
           "        self._sent[group] = handle, tensors, dtypes\n        synchronize(handle)\n"),
    Mutant("counts are not reset", "hvd_optimizer", "test_during_backward",
           "            self._start_over()\n            ###",
           "            self._sent = {}\n            ###"),
    Mutant("what this rank did not use is not sent", "hvd_optimizer", "test_unused_and_orders", MISSING, ""),
    Mutant("named in the order in which they come", "hvd_optimizer", "test_unused_and_orders", NAME,
           'name=f"gradient {len(self._sent)}"'),
    Mutant("every pass sends", "hvd_optimizer", "test_passes",
           "        if not any(self._passes_left[member] for member in group):\n",
           "        if True:\n"),
    Mutant("averaged over the passes as well", "hvd_optimizer", "test_passes", COMPRESS,
           COMPRESS.replace("p.grad", "p.grad.div_(self.backward_passes_per_step)")),
    Mutant("no names", "hvd_optimizer", "test_requests", NAME, "name=None"),
    Mutant("factors are forgotten", "hvd_optimizer", "test_requests", FACTORS, "prescale_factor=1.0"),
    Mutant("nothing is compressed", "hvd_optimizer", "test_requests",
           COMPRESS, "zip(*((p.grad, p.grad.dtype) for p in group))"),
    Mutant("divided before, not multiplied after", "hvd_optimizer", "test_options", FACTORS, "prescale_factor=before"),
    Mutant("what was compressed stays so", "hvd_optimizer", "test_options",
           "p.grad = self._compression.decompress(tensor, dtype)", "p.grad = tensor"),
    Mutant("step reduces again what was reduced", "hvd_optimizer", "test_clipping",
           "        if self._should_synchronize:\n",
           "        if True:\n"),
]  # fmt: skip

MUTANTS = NEGOTIATION + FUSION + STATE + OPTIMIZER
