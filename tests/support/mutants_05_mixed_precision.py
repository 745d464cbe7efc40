"""Wrong answers to the exercises of lab 05."""

from support.mutants import Mutant

COPY = "nn.Parameter(weight.detach().clone().float())"
COLLECT = "            master.grad = None if weight.grad is None else weight.grad.float()\n"
SPREAD = "                weight.copy_(master)\n"
GROW = """            if self.good_steps == self.interval:
                larger = torch.tensor(self.factor * self.growth, dtype=torch.float32).item()
                self.factor = larger if math.isfinite(larger) else self.factor
                self.good_steps = 0
"""
FINITE = "        finite = all(bool(gradient.isfinite().all()) for gradient in gradients)\n"
ASK = "    dist.all_reduce(anyone, op=dist.ReduceOp.MAX)\n"
LEAVES = "        if not list(layer.children()):\n            layer.register_forward_hook(remember(name))\n"
PART = """        with nullcontext() if last else model.no_sync():
            with torch.autocast(device, dtype, enabled=dtype != torch.float32):
                loss = loss_of(model, part) / len(parts)
            scaler.scale(loss).backward()
"""
CAST = "            with torch.autocast(device, dtype, enabled=dtype != torch.float32):\n"
UNSCALE = "    scaler.unscale_(optimizer)\n"
CLIP = "    norm = clip_grad_norm_(model.parameters(), max_norm).item()\n"
WRITE = """    if dist.get_rank() == 0:
        state = {"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state | {"scaler": scaler.state_dict()}, path)
"""

MASTER = [
    Mutant("masters in 16 bits", "master_weights", "test_small_changes", COPY,
           "nn.Parameter(weight.detach().clone())"),
    Mutant("masters are rounded too", "master_weights", "test_small_changes", SPREAD,
           SPREAD + "                master.copy_(weight)\n"),
    Mutant("masters share memory with weights in float32", "master_weights", "test_copies", ".clone().float()",
           ".float()"),
    Mutant("the optimizer holds the weights", "master_weights", "test_copies", "make(self.masters)",
           "make(self.weights)"),
    Mutant("masters start at zero", "master_weights", "test_copies", COPY,
           "nn.Parameter(torch.zeros_like(weight, dtype=torch.float32))"),
    Mutant("the model becomes float32", "master_weights", "test_rounded", "weight.copy_(master)",
           "weight.data = master.detach().clone()"),
    Mutant("the model keeps its old weights", "master_weights", "test_rounded", SPREAD, "                pass\n"),
    Mutant("gradients add up over the steps", "master_weights", "test_same_as_float32", COLLECT,
           "            if weight.grad is not None:\n"
           "                master.grad = weight.grad.float() + (0 if master.grad is None else master.grad)\n"),
    Mutant("the gradient of the last step is used again", "master_weights", "test_unused", COLLECT,
           "            if weight.grad is not None:\n                master.grad = weight.grad.float()\n"),
    Mutant("no gradient counts as zeros", "master_weights", "test_unused", "None if weight.grad is None",
           "torch.zeros_like(master) if weight.grad is None"),
]  # fmt: skip

SCALER = [
    Mutant("the loss is not scaled", "my_scaler", "test_gradients", "return loss * self.factor", "return loss"),
    Mutant("gradients stay scaled", "my_scaler", "test_gradients", "gradient.div_(self.factor)", "pass"),
    Mutant("unscaled in the first step only", "my_scaler", "test_gradients", "        self.overflow = None\n", ""),
    Mutant("never backs off", "my_scaler", "test_decisions", "self.factor *= self.backoff", "pass"),
    Mutant("never grows", "my_scaler", "test_decisions", GROW, ""),
    Mutant("grows one step late", "my_scaler", "test_decisions", "self.good_steps == self.interval",
           "self.good_steps > self.interval"),
    Mutant("an overflow does not end the row", "my_scaler", "test_decisions",
           "            self.factor *= self.backoff\n            self.good_steps = 0\n",
           "            self.factor *= self.backoff\n"),
    Mutant("the count goes on after growth", "my_scaler", "test_decisions", GROW,
           GROW.replace("== self.interval", "% self.interval == 0").replace(
               "                self.good_steps = 0\n", "")),
    Mutant("grows beyond float32", "my_scaler", "test_decisions", "larger if math.isfinite(larger) else self.factor",
           "larger"),
    Mutant("needs a process group", "my_scaler", "test_decisions",
           "    if not dist.is_initialized():\n        return flag\n", ""),
    Mutant("nan is not seen", "my_scaler", "test_finds", "bool(gradient.isfinite().all())",
           "not bool(gradient.isinf().any())"),
    Mutant("only the last gradient is looked at", "my_scaler", "test_finds", FINITE,
           "        finite = bool(gradients[-1].isfinite().all())\n"),
    Mutant("bad gradients become zeros", "my_scaler", "test_skips",
           "        if not self.overflow:\n            optimizer.step()\n",
           "        for p in optimizer.param_groups[0]['params']:\n"
           "            p.grad = torch.zeros_like(p) if self.overflow else p.grad\n        optimizer.step()\n"),
    Mutant("steps anyway", "my_scaler", "test_skips", "        if not self.overflow:\n            optimizer.step()\n",
           "        optimizer.step()\n"),
    Mutant("step unscales once more", "my_scaler", "test_once", "        self.unscale_(optimizer)\n",
           "        self.overflow = None\n        self.unscale_(optimizer)\n"),
    Mutant("every rank for itself", "my_scaler", "test_same_decision", ASK, ""),
    Mutant("rank 0 decides", "my_scaler", "test_same_decision", ASK, "    dist.broadcast(anyone, src=0)\n"),
    Mutant("an overflow on all ranks is taken for a bad batch", "my_scaler", "test_ddp",
           "op=dist.ReduceOp.MAX)\n    return bool(anyone)",
           "op=dist.ReduceOp.SUM)\n    return 0 < float(anyone) < dist.get_world_size()"),
    Mutant("a message for each gradient", "my_scaler", "test_message",
           FINITE + "        self.overflow = on_any_rank(not finite)\n",
           "        self.overflow = any([on_any_rank(not bool(g.isfinite().all())) for g in gradients])\n"),
]  # fmt: skip

AUTOCAST = [
    Mutant("the first list is ignored", "my_autocast", "test_low", "if name in LOW:", "if name in set():"),
    Mutant("always bfloat16", "my_autocast", "test_low", "cast(args, self.dtype), cast(kwargs, self.dtype)",
           "cast(args, torch.bfloat16), cast(kwargs, torch.bfloat16)"),
    Mutant("results go back to float32", "my_autocast", "test_low", "        return function(*args, **kwargs)",
           "        return cast(function(*args, **kwargs), torch.float32)"),
    Mutant("the second list is ignored", "my_autocast", "test_full", "elif name in FULL:", "elif name in set():"),
    Mutant("a result in 16 bits, cast when it is too late", "my_autocast", "test_full",
           "            args, kwargs = cast(args, torch.float32), cast(kwargs, torch.float32)\n",
           "            return cast(function(*args, **kwargs), torch.float32)\n"),
    Mutant("everything in 16 bits", "my_autocast", "test_others", "        return function(*args, **kwargs)",
           "        if name not in FULL:\n            args = cast(args, self.dtype)\n"
           "        return function(*args, **kwargs)"),
    Mutant("labels and masks are cast", "my_autocast", "test_arguments", " and value.is_floating_point()", ""),
    Mutant("lists are not gone through", "my_autocast", "test_arguments", "isinstance(value, (list, tuple))",
           "isinstance(value, tuple)"),
    Mutant("keyword arguments are left alone", "my_autocast", "test_arguments",
           "cast(args, self.dtype), cast(kwargs, self.dtype)", "cast(args, self.dtype), kwargs"),
    Mutant("the cast cuts the graph", "my_autocast", "test_training", "return value.to(dtype)",
           "return value.detach().to(dtype)"),
    Mutant("the weights themselves are cast", "my_autocast", "test_training", "        return value.to(dtype)\n",
           "        if isinstance(value, nn.Parameter):\n            value.data = value.data.to(dtype)\n"
           "        return value.to(dtype)\n"),
    Mutant("watch looks at the input", "my_autocast", "test_watch", "formats[name] = output.dtype",
           "formats[name] = inputs[0].dtype"),
    Mutant("watch names containers too", "my_autocast", "test_watch", LEAVES,
           "        layer.register_forward_hook(remember(name))\n"),
    Mutant("every hook has the last name", "my_autocast", "test_watch", LEAVES,
           "        if not list(layer.children()):\n"
           "            layer.register_forward_hook(lambda l, i, o: formats.__setitem__(name, o.dtype))\n"),
    Mutant("torch does the work", "my_autocast", "test_own_work", "        return function(*args, **kwargs)",
           "        with torch.autocast('cpu', self.dtype):\n            return function(*args, **kwargs)"),
]  # fmt: skip

STEP = [
    Mutant("the parts are added up, not averaged", "amp_step", "test_same_as_one_process", " / len(parts)", ""),
    Mutant("clipped before it is unscaled", "amp_step", "test_same_as_one_process", UNSCALE + CLIP, CLIP + UNSCALE),
    Mutant("clipped, never unscaled before", "amp_step", "test_same_as_one_process", UNSCALE, ""),
    Mutant("only the last part counts", "amp_step", "test_same_as_one_process",
           "            scaler.scale(loss).backward()\n",
           "            optimizer.zero_grad()\n            scaler.scale(loss).backward()\n"),
    Mutant("the ranks never communicate", "amp_step", "test_same_as_one_process",
           "nullcontext() if last else model.no_sync()", "model.no_sync()"),
    Mutant("gradients of the last step are kept", "amp_step", "test_same_as_one_process",
           "    optimizer.zero_grad()\n", ""),
    Mutant("the norm of scaled gradients is returned", "amp_step", "test_norm", UNSCALE + CLIP,
           "    norm = clip_grad_norm_(model.parameters(), float('inf')).item()\n" + UNSCALE
           + CLIP.replace("norm = ", "")),
    Mutant("DDP sends for every part", "amp_step", "test_messages", "nullcontext() if last else model.no_sync()",
           "nullcontext()"),
    Mutant("no_sync around backward alone", "amp_step", "test_messages", PART,
           "        with torch.autocast(device, dtype, enabled=dtype != torch.float32):\n"
           "            loss = loss_of(model, part) / len(parts)\n"
           "        with nullcontext() if last else model.no_sync():\n"
           "            scaler.scale(loss).backward()\n"),
    Mutant("no autocast", "amp_step", "test_autocast", "enabled=dtype != torch.float32", "enabled=False"),
    Mutant("backward inside autocast", "amp_step", "test_autocast", "            scaler.scale(loss).backward()\n",
           "                scaler.scale(loss).backward()\n"),
    Mutant("stepped past the scaler", "amp_step", "test_overflow", "    scaler.step(optimizer)\n",
           "    optimizer.step()\n"),
    Mutant("the scaler is not updated", "amp_step", "test_overflow", "    scaler.update()\n",
           "    scaler.update(scaler.get_scale())\n"),
]  # fmt: skip

RESUME = [
    Mutant("the optimizer starts anew", "amp_resume", "test_goes_on",
           '    optimizer.load_state_dict(state["optimizer"])\n', ""),
    Mutant("rank 0 alone loads the weights", "amp_resume", "test_goes_on",
           "    model.module.load_state_dict", "    if dist.get_rank() == 0:\n        model.module.load_state_dict"),
    Mutant("the scaler is saved and not loaded", "amp_resume", "test_scaler",
           '    scaler.load_state_dict(state["scaler"])\n', ""),
    Mutant("only the scale is saved", "amp_resume", "test_scaler", '{"scaler": scaler.state_dict()}',
           '{"scaler": scaler.state_dict() | {"_growth_tracker": 0}}'),
    Mutant("the step is one too many", "amp_resume", "test_step", 'return state["step"]', 'return state["step"] + 1'),
    Mutant("every rank writes", "amp_resume", "test_one_writer", "if dist.get_rank() == 0:", "if True:"),
    Mutant("nobody waits", "amp_resume", "test_whole", "    dist.barrier()\n", ""),
    Mutant("the barrier stands before the writing", "amp_resume", "test_whole", WRITE + "    dist.barrier()\n",
           "    dist.barrier()\n" + WRITE),
    Mutant("DDP's names are saved", "amp_resume", "test_plain", "model.module.state_dict()", "model.state_dict()"),
    Mutant("the whole model is pickled", "amp_resume", "test_plain", "model.module.state_dict()", "model.module"),
]  # fmt: skip

MUTANTS = MASTER + SCALER + AUTOCAST + STEP + RESUME
