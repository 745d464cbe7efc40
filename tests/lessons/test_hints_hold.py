"""What the course's own fuller hints say is true of the exercises that they belong to.

The code in a hint is code of the solution, and what a hint warns of is a wrong answer that a check
rejects: `tests/checks/test_mutants.py` runs it. What hints say about torch is in `tests/facts`.
"""

import re

import pytest
from support import mutants

from course.exercises import exercises

MUTANTS = [mutant for path in mutants.FILES for mutant in mutants.read(path)]
CODE = re.compile(r"`([^`]+)`")
NUMBERS = {"r", "N", "w", "k"}  # letters that a hint counts with
ELSEWHERE = {
    ("my_ddp", "state_dict"): "what not to take",
    ("hvd_negotiation", "error"): "a field of what the lab gives",
    ("my_fsdp", "ZeroTwo"): "a class of lab 10",
    ("way_ddp", "device_ids"): "what a GPU would want",
}
# An exercise, words of its hints, and the wrong answer that does what they warn of.
WARNINGS = [
    ("start_here", "Divide in place too (`/=`)", "It divides into a new tensor, so the given one"),
    ("my_all_gather", "into your own place", "It forgets its own tensor"),
    ("my_all_gather", "rank `r` is the source", "Rank 0 is the source each time"),
    ("my_reduce_scatter", "so hand it a clone", "The parts are reduced in place"),
    ("my_reduce_scatter", "or a maximum becomes a sum", "It always takes the sum"),
    ("data_parallel", "make only that many replicas", "It makes as many replicas as there are dev"),
    ("data_parallel", "goes to every device as it is", "A string is dealt out letter by letter"),
    ("data_parallel", "a subclass of dict", "Outputs of a dict's subclass become plain dicts"),
    (
        "loss_inside",
        "Dividing first and averaging after",
        "The shares' means all have the same wei",
    ),
    ("loss_inside", "the count of labels that are not ignored", "It counts ignored labels"),
    ("simple_ways", "a clone of your own numbers", "Its own place holds the tensor that the"),
    ("simple_ways", "Then set `flat` to zero", "It adds its own numbers twice"),
    ("simple_ways", "in the order of the ranks", "Each rank adds in an order that goes round fro"),
    ("ring", "no rank receives, and the ring stands still", "It sends before it receives"),
    ("ring", "Python refuses", "It adds into the tuple that holds the chunks"),
    ("ring", "chunks may differ in length", "It leaves out the numbers that do not divide"),
    ("ring", "Nothing is added here", "The all-gather adds"),
    ("ring", "If you make copies instead of views", "The chunks are copies, not views"),
    ("ddp", "make it the current device", "It does not make its GPU the current one"),
    ("ddp", "may wait for ranks that have no batch left", "It evaluates through DDP's forward, on"),
    ("ddp", "Without that call each epoch has the same order", "It never calls `set_epoch`"),
    ("my_ddp", "every parameter *and* every buffer", "It forgets the buffers"),
    ("my_ddp", "it leaves some buffers out", "It sends the state dict, in which some buffers"),
    ("my_buckets", "there is such a bucket", "It looks for one more bucket after the last"),
    ("my_buckets", "waits for its turn", "Buckets are sent in the order in which they are compl"),
    ("my_buckets", "First send what is still unsent", "It forgets buckets that were never compl"),
    ("my_buckets", "Last, `reset`", "Nothing is reset, so only the first step communicates"),
    ("my_buckets", "one that fits exactly still goes in", "It refuses a parameter that fills a b"),
    ("my_buckets", "`numel() * element_size()`", "It takes elements for bytes"),
    ("snapshot", "make sure that it is on the disk", "It does not force the file to the disk"),
    ("snapshot", "must lie in the same folder", "It writes the second file on what may be anot"),
    ("snapshot", "the beginning of it is repeated", "It leaves out the samples that do not div"),
    ("trainer", "A warm-up of 0 steps must not", "It divides by a warm-up of 0"),
    ("trainer", "have no `module.` in front", "It saves the wrapped model"),
    ("trainer", "The random states come from all ranks", "Every rank gets rank 0's random state"),
    ("trainer", "by the share of pairs in its batch", "Every batch has the same weight"),
    ("trainer", "forward *and* backward", "Only the backward is inside `no_sync`"),
    ("cured_hangs", "So call it first, on all ranks", "The all-reduce is still inside an if"),
    ("cured_hangs", "depends on the whole names", "It sorts by the first letter"),
    ("cured_hangs", "only if no rank had a 0", "One rank with a batch is enough"),
    ("cured_fails", "whether or not an old file is there", "It keeps an old file"),
    ("cured_fails", "The barrier must stand outside", "Only rank 0 reads"),
    ("cured_fails", "Do not catch the error", "It swallows a failed download"),
    ("cured_fails", "zeros of its own dtype", "The result is floating point"),
    ("cured_fails", "cut each back to its true length", "The padding stays"),
    ("cured_lies", "scale yours in advance", "It forgets that DDP divides"),
    ("cured_lies", "let the others wait at a barrier", "No rank waits"),
    ("instruments", "with that of rank 0", "It compares with its own weights instead of rank"),
    ("instruments", "Compare it with the mean of the *others*", "It counts the slowest rank among"),
    ("my_shards", "there is one reader per rank", "Without workers it has no readers"),
    ("my_shards", "(round up)", "It rounds the number of parts down"),
    ("my_shards", "a generator of its own", "Its order depends on how often it was asked"),
    ("my_shards", "over the borders of the pieces", "It skips in every piece"),
    ("my_shards", "so that it can be a key", "Its keys are tensors"),
    ("my_shards", "the number of lines, not 1", "It skips batches, not lines"),
    ("my_shards", "1 means that every rank has a batch", "One batch somewhere is enough"),
    ("my_shards", "also in the last one", "A rank without a batch does not vote"),
    ("my_token_mean", "because the other ranks wait for it", "A pass without targets is left out"),
    ("my_token_mean", "because DDP divides by it", "It forgets that DDP divides by the world size"),
    ("cured_runs", "not a copy", "It wraps a copy of the policy"),
    ("cured_runs", "NaN is not above any number", "NaN is not above the limit"),
    ("master_weights", "Detach and clone", "The masters share memory with float32 weights"),
    ("master_weights", "not the weights", "The optimizer holds the weights"),
    ("master_weights", "an old gradient again", "It uses the gradient of the last step again"),
    ("my_scaler", "must be the same on all ranks", "Every rank decides for itself"),
    ("my_scaler", "any of them holds an inf or a nan", "It asks whether the gradients of any rank"),
    ("my_scaler", "start counting again in any case", "It starts counting again only if the f"),
    ("my_scaler", "take `grown()` for the factor", "It grows beyond float32"),
    ("my_autocast", "float64 stays as it is", "It casts float64 too"),
    ("my_autocast", "a tensor can come in by name", "It leaves keyword arguments alone"),
    ("amp_step", "The backward pass does not", "The backward is inside autocast"),
    ("amp_step", "Clipping must see the true gradients", "It clips before it unscales"),
    ("fp8_linear", "its sign aside", "It looks at the largest number, not at the largest"),
    ("fp8_linear", "the scale is 1", "It divides by zero"),
    ("fp8_linear", "too large by both", "It forgets the scale of the second factor"),
    ("hvd_state", "Wait only after all have been started", "It waits for each broadcast before"),
    ("hvd_state", "(float32 cannot hold every length)", "The length travels as float32"),
    ("hvd_optimizer", "still takes part", "It does not send what this rank did not use"),
    ("hvd_optimizer", "look at its whole group", "A group is sent with its first member"),
    ("hvd_negotiation", "or if one of the requests", "A refusal waits for the other ranks"),
    ("hvd_negotiation", "the first dimension of each", "It asks for the same number of rows ev"),
    ("hvd_fusion", "Only all-reduces are fused", "Broadcasts share messages"),
    ("hvd_fusion", "not the whole buffer", "It resizes the buffer"),
    ("hvd_fusion", "others hold references to it", "The list gets new tensors instead of new"),
    ("mirrored", "in *one* `copy.deepcopy`", "It copies the model and the optimizer apart"),
    ("mirrored", "leave it out", "It expects a gradient of every parameter"),
    ("mirrored", "the lines below yours average the buffers", "It forgets the buffers"),
    ("multi_worker", "with one all-reduce", "It sends one message per tensor"),
    ("way_ddp", "count every image exactly once", "The shares of the validation images are fil"),
    ("parameter_server", "with old weights forever", "A worker never reads new weights"),
    ("parameter_server", "Then count the version up", "It does not count versions"),
    ("parameter_server", "with the smallest in", "It compares with the fastest worker"),
    ("benchmark", "Without the second wait", "The clock stops before the device is done"),
    ("benchmark", "The samples of all steps", "It counts the samples of one step only"),
    ("benchmark", "the time is that of the slowest rank", "It uses the mean of the ranks' times"),
    ("efficiency", "with the whole batch", "It compares with one rank of the same share"),
    ("predict", "something must still be seen", "Everything may hide"),
    ("cured_slow", "Pass on the batch size and the sampler", "The sampler is forgotten"),
    ("cured_slow", "forward and backward", "Only backward is inside no_sync"),
    ("two_level", "also for groups that it is not in", "Each rank makes its own group only"),
    ("from_slurm", "different for another job", "All jobs use the same port"),
    ("from_slurm", "and stay below 32768", "Its ports reach into those that Linux hands out"),
    ("from_slurm", "All values are strings", "The world size is not text"),
    ("resumable", "If you divide first and cut after", "Each rank takes a whole batch"),
    ("resumable", "All ranks then leave in the same step", "Only a rank that was told stops"),
    ("zero_one", "return `None`", "A rank that owns nothing still makes an optimizer"),
    ("zero_one", "with all its options", "The options of the groups are lost"),
    ("zero_one", "First step your own optimizer", "It broadcasts before it updates"),
    ("zero_one", "and still takes part", "A rank that owns nothing cannot save"),
    ("flat_unit", "(bf16 would lose digits of the sum)", "It adds up in the dtype of the gradi"),
    ("flat_unit", "if it has one already", "A second backward replaces the gradient of the"),
    ("flat_unit", "drop the gradients of the whole", "The whole gradients stay"),
    ("my_fsdp", "as soon as its output is there", "Layers stay whole after their forward"),
    ("my_fsdp", "takes no hook", "It expects a backward of every forward"),
    ("my_fsdp", "`self.units[-1]` would be the last", "In backward of the first layer it starts"),
    ("my_fsdp", "this pass only collects them", "It reduces within no_sync, too"),
    ("my_fsdp", "Set the count back", "It counts once and for all"),
    ("my_clip", "roots cannot", "It adds up norms"),
    ("my_clip", "but never by more than 1", "It scales small gradients up"),
    ("my_clip", "Return the norm as a tensor", "It returns a float"),
    ("my_hsdp", "so only a part crosses", "The whole gradient goes down the column"),
    ("my_hsdp", "by the number of all ranks", "It divides by the ranks of its row"),
    ("sharded_state", "Cut off the padding", "Padding becomes part of the last parameter"),
    ("sharded_state", "Clone it, or the whole tensor stays", "The part is a view of the whole"),
    ("my_split", "All-reduce a contiguous clone", "Enter writes into the gradient that it gets"),
    ("my_split", "and nothing is sent", "Leave adds up gradients too"),
    ("my_split", "each block must be cut, not the whole", "It cuts three blocks as if they were"),
    ("my_split", "Add the bias once, after the sum", "Every rank adds the bias before the sum"),
    ("my_vocabulary", "the largest logit over all ranks", "Each rank subtracts its own largest"),
    ("my_schedule", "the last micro-batch comes first", "GPipe goes back from the first"),
    ("my_schedule", "but never more than there are", "It forgets that there may be fewer micro-"),
    ("my_gradients", "only if the two are different", "It adds up the table on both ends, whate"),
    ("my_gradients", "only on rank 0 of the tensor group", "It counts on every rank what all of"),
    ("local_sgd", "after their steps 3, 6, 9", "The ranks meet before their own step"),
    ("diloco", "the common row minus yours", "The gradient points downhill"),
    ("compressed", "the row minus `rounded`", "The difference has the wrong sign"),
    ("compressed", "leave `row` as it is", "The zeros get into what is sent"),
    ("meeting", "another replica may come in between", "It looks first and writes then"),
    ("meeting", "a newcomer answers no, always", "A newcomer may close after the deadline"),
    ("meeting", "the order differs", "The order counts"),
    ("common_weights", "If all of these are zero", "0/0 in the first round"),
    ("common_weights", "by it into a *new* tensor", "It sums in the state's own tensor"),
    ("common_weights", "let the loop begin again", "A failed round is the end"),
    ("ring_attention", "multiply both by", "It scales the totals, but not the weighted values"),
    ("ring_attention", "The last pass brings it home", "Gradients stop one rank short of home"),
    ("ring_attention", "with the owner's places", "It gives the keys its own places"),
    (
        "split_sequence",
        "rank 1 the second and the last but one",
        "It pairs each piece with the one",
    ),
    ("split_sequence", "divided by the count of all ranks", "It divides by its own count"),
    ("split_sequence", "DDP will divide by the number of ranks", "It forgets that DDP divides"),
    ("my_router", "undo the flattening, then the transposition", "It puts the answers back"),
    ("my_router", "All-reduce the counts over `group`", "It counts for all ranks there are"),
    ("my_dispatch", "with the two lists exchanged", "Gradients leave with the sizes"),
    ("my_dispatch", "Multiply by `weight`", "The results are not weighted"),
    ("my_expert_gradients", "If `grad` is None, make it zeros", "An expert without a token is"),
    ("my_expert_gradients", "in both cases", "The copies divide by their own number"),
]


@pytest.mark.parametrize("name", exercises())
def test_the_code_in_a_hint_is_code_of_the_solution(name: str) -> None:
    exercise = exercises()[name]
    code = [words for hint in exercise.hints.values() for words in CODE.findall(hint)]
    named = set(re.findall(r"[^\W\d]\w*", " ".join(code)))
    known = set(re.findall(r"\w+", exercise.script(solved=True))) | NUMBERS
    assert named - known == {word for of, word in ELSEWHERE if of == name}


@pytest.mark.parametrize(("name", "words", "title"), WARNINGS)
def test_what_a_hint_warns_of_is_rejected(name: str, words: str, title: str) -> None:
    assert words in " ".join(exercises()[name].hints.values())
    titles = [
        mutant.title
        for mutant in MUTANTS
        if mutant.exercise == name and mutant.title.startswith(title)
    ]
    assert len(titles) == 1, titles


def test_the_warnings_are_in_the_order_of_the_course() -> None:
    order = list(exercises())
    places = [order.index(name) for name, _, _ in WARNINGS]
    assert places == sorted(places)


def test_the_hints_of_every_exercise_warn_of_something() -> None:
    assert {name for name, _, _ in WARNINGS} == exercises().keys(), "add a row to WARNINGS"
