"""Wrong answers to the exercises of lab 01."""

from support.mutants import Mutant

REPLICATE = "    replicas = replicate(module, used)\n"
APPLY = "    outputs = parallel_apply(replicas, [share[0] for share in shares], [share[1] for share in shares], used)\n"
JOIN_DICT = "return type(first)((name, join([output[name] for output in outputs], device)) for name in first)"
SPLIT_SEQUENCE = """        shares = zip(*(split(entry, devices) for entry in value))
        return [type(value)(share) for share in shares]
"""
LOSS = 'loss = nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")'
MEAN = "return losses.sum() / counts.sum()"
COUNT = "return loss, (labels != IGNORED).sum()"


def dp(name: str, check: str, old: str, new: str) -> Mutant:
    return Mutant(name, "data_parallel", check, old, new)


def loss(name: str, check: str, old: str, new: str) -> Mutant:
    return Mutant(name, "loss_inside", check, old, new)


DATA_PARALLEL = [
    dp("gradients stay on the devices", "test_same_as_one_device", REPLICATE,
       "    import copy\n    replicas = [copy.deepcopy(module) for _ in used]\n"),
    dp("outputs are detached when they move", "test_same_as_one_device", "        return gather(outputs, device)\n",
       "        return gather([output.detach() for output in outputs], device).requires_grad_()\n"),
    dp("outputs are averaged, as gradients are in DDP", "test_same_as_one_device",
       "        return gather(outputs, device)\n",
       "        return gather([output / len(outputs) for output in outputs], device)\n"),
    dp("gathered in the order of the last device first", "test_same_as_one_device",
       "    return join(outputs, devices[0])", "    return join(outputs[::-1], devices[0])"),
    dp("frozen parameters are trained", "test_tied_and_frozen", REPLICATE,
       "    module.requires_grad_()\n" + REPLICATE),
    dp("the rest of an uneven batch is dropped", "test_uneven", "        return list(scatter(value, devices))\n",
       "        whole = max(len(value) // len(devices), 1) * len(devices)\n"
       "        return list(scatter(value[:whole], devices))\n"),
    dp("as many replicas as devices", "test_uneven", "devices[: len(shares)]", "devices"),
    dp("a small batch is padded with copies", "test_small_batch", "        return list(scatter(value, devices))\n",
       "        short = max(len(devices) - len(value), 0)\n"
       "        return list(scatter(torch.cat([value, value[:1].expand(short, *value.shape[1:])]), devices))\n"),
    dp("the last device is left out", "test_one_device",
       "shares = split((args, kwargs), devices)", "shares = split((args, kwargs), devices[:-1])"),
    dp("replicated once, for all steps", "test_training", REPLICATE,
       "    if not hasattr(module, 'kept'):\n        module.kept = replicate(module, used)\n"
       "    replicas = module.kept\n"),
    dp("torch falls back to the module itself", "test_replicas", "    shares = split((args, kwargs), devices)\n",
       "    return nn.parallel.data_parallel(module, args, module_kwargs=kwargs)\n"
       "    shares = split((args, kwargs), devices)\n"),
    dp("the module takes the place of its replicas", "test_replicas", REPLICATE,
       "    replicas = [module] * len(used)\n"),
    dp("one replica for all", "test_replicas", REPLICATE, "    replicas = replicate(module, used[:1]) * len(used)\n"),
    dp("every device gets the whole batch", "test_replicas", "        return list(scatter(value, devices))\n",
       "        return [value] * len(devices)\n"),
    dp("one replica after the other", "test_threads", APPLY,
       "    outputs = [replica(*share[0], **share[1]) for replica, share in zip(replicas, shares)]\n"),
    dp("a dict is given whole to everyone", "test_nested_inputs", "if isinstance(value, dict) and value:", "if False:"),
    dp("a list becomes a tuple", "test_nested_inputs", "return [type(value)(share) for share in shares]",
       "return [tuple(share) for share in shares]"),
    dp("named tensors go whole to everyone", "test_nested_inputs",
       "    shares = split((args, kwargs), devices)\n",
       "    shares = [(share, kwargs) for share in split(args, devices)]\n"),
    dp("only the outermost container is split", "test_nested_inputs", SPLIT_SEQUENCE,
       SPLIT_SEQUENCE.replace("split(entry, devices) for", "(split(entry, devices) if isinstance(entry, "
                              "(Tensor, dict, tuple)) else [entry] * len(devices)) for")),
    dp("without arguments there is no share", "test_by_name", "    shares = split((args, kwargs), devices)\n",
       "    shares = list(zip(split(list(args), devices) if args else [], split(kwargs, devices)))\n"),
    dp("empty containers make no share", "test_constants", "(tuple, list)) and value:", "(tuple, list)):"),
    dp("an empty dict makes no share", "test_constants", "isinstance(value, dict) and value:",
       "isinstance(value, dict):"),
    dp("only the master hears of flags", "test_constants", "    return [value] * len(devices)\n",
       "    return [value] + [None] * (len(devices) - 1)\n"),
    dp("a string is dealt out letter by letter", "test_constants", "isinstance(value, (tuple, list)) and value",
       "hasattr(value, '__iter__') and value"),
    dp("outputs in a dict lose their order", "test_nested_outputs", JOIN_DICT,
       JOIN_DICT.replace("in first)", "in sorted(first))")),
    dp("outputs become plain dicts", "test_nested_outputs", JOIN_DICT, JOIN_DICT.replace("type(first)(", "dict(")),
    dp("nested outputs are those of the master", "test_nested_outputs",
       "return type(first)(join(list(parts), device) for parts in zip(*outputs))", "return first"),
    dp("a list of outputs becomes a tuple", "test_nested_outputs",
       "return type(first)(join(list(parts), device) for parts in zip(*outputs))",
       "return tuple(join(list(parts), device) for parts in zip(*outputs))"),
    dp("what is no tensor comes once a device", "test_nested_outputs", "    return first\n", "    return outputs\n"),
]  # fmt: skip

LOSS_INSIDE = [
    loss("the sum of the losses", "test_even", MEAN, "return losses.sum()"),
    loss("the first device's loss", "test_even", MEAN, "return losses[0] / counts[0]"),
    loss("the sum of the means", "test_even", MEAN, "return (losses / counts).sum()"),
    loss("a number without a gradient", "test_even", MEAN, "return (losses.sum() / counts.sum()).detach()"),
    loss("gradients are lost on the way to the master", "test_even", COUNT,
         "return loss.detach(), (labels != IGNORED).sum()"),
    loss("divided by the number of devices", "test_even", MEAN, "return losses.sum() / counts.sum() / len(counts)"),
    loss("the mean of the means", "test_uneven", MEAN, "return (losses / counts).mean()"),
    loss("the mean of a share, weighted by nothing", "test_uneven", LOSS + "\n        " + COUNT,
         "loss = nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED)\n"
         "        return loss, labels.new_ones(())"),
    loss("as if every share were as large as the first", "test_uneven", MEAN,
         "return losses.sum() / (counts[0] * len(counts))"),
    loss("at least two devices", "test_one", MEAN, "return (losses[0] + losses[1]) / counts.sum()"),
    loss("samples are counted, not labels", "test_tokens", COUNT,
         "return loss, labels.new_tensor(len(next(iter(inputs.values()))))"),
    loss("ignored labels count", "test_ignored", COUNT, "return loss, labels.new_tensor(labels.numel())"),
    loss("ignored labels cost", "test_ignored", LOSS,
         "loss = nn.functional.cross_entropy(logits, labels.clamp(min=0), reduction='sum')"),
    loss("the labels are counted of what is not zero", "test_ignored", COUNT, "return loss, (labels != 0).sum()"),
    loss("means, weighted by their counts", "test_ignored_share", LOSS + "\n        " + COUNT,
         "loss = nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED)\n"
         "        return loss * (labels != IGNORED).sum(), (labels != IGNORED).sum()"),
    loss("a share counts for one label at least", "test_ignored_share", COUNT,
         "return loss, (labels != IGNORED).sum().clamp(min=1)"),
    loss("the logits come along", "test_small_output", COUNT,
         "return loss, (labels != IGNORED).sum(), logits"),
    loss("a loss for each label", "test_small_output", LOSS + "\n        " + COUNT,
         "loss = nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction='none')\n"
         "        return loss, labels != IGNORED"),
]  # fmt: skip

MUTANTS = DATA_PARALLEL + LOSS_INSIDE
