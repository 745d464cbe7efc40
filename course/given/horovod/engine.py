"""The thread next to the program that negotiates, fuses, and runs what all ranks agreed on.

Two parts decide: `Negotiation` (who wants what?) and `fuse`, `pack` and `unpack` (what travels
together?). `Engine._cycle` calls them. plain.py has short versions; in lab 06b you write your own.
"""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from types import ModuleType

import torch
import torch.distributed as dist
from torch import Tensor

from course.given.horovod.collectives import backend, exchange
from course.given.horovod.process_sets import JOIN, Joined, ProcessSet, Team
from course.given.horovod.requests import Answer, Request
from course.given.horovod.timeline import Timeline

IDLE_S = 0.1  # how often a rank without requests listens to the others
Key = tuple[int, str]  # the process set's number and the operation's name


class HorovodInternalError(RuntimeError):
    """An operation cannot be run; every rank that takes part in it raises this."""


class Handle:
    """An operation under way. Reductions and broadcasts write their results into `tensors`."""

    def __init__(self, request: Request, tensors: list[Tensor]) -> None:
        self.request, self.tensors = request, tensors
        on_gpu = bool(tensors) and tensors[0].is_cuda
        self.stream = torch.cuda.current_stream(tensors[0].device) if on_gpu else None
        self.requested = time.perf_counter()
        self.agreed: tuple[Request, ...] = ()  # the request of each rank, once all have arrived
        self.results: tuple = ()  # one for each tensor
        self.single = False  # requested without a list, so its result comes without one
        self.error: BaseException | None = None
        self.done = False

    @property
    def key(self) -> Key:
        """The process set and the name; only one operation at a time can use them."""
        return self.request.process_set, self.request.name


class Engine:
    """One per rank. Your threads call `submit`, `wait` and `leave`; the rest is the engine's own.

    `negotiation` is a class, `fusion` a module with `fuse`, `pack` and `unpack`.
    """

    def __init__(
        self, negotiation: type, fusion: ModuleType, process_sets: Sequence[ProcessSet]
    ) -> None:
        self.control = dist.new_group(backend="gloo")  # a group that nothing else uses
        self.rank, self.size = self.control.rank(), self.control.size()
        self.fusion = fusion
        self.teams = {
            number: Team(process_set.ranks, negotiation, fusion)
            for number, process_set in enumerate(process_sets)
        }
        self.runner = self.teams[0].runner  # of all ranks
        # Horovod's is 1 ms. Ranks on a CPU compute on the very cores that messages need, so there
        # the engine sends fewer messages.
        cycle_ms = os.environ.get("HOROVOD_CYCLE_TIME", "20" if backend() == "gloo" else "1")
        self.cycle_s = float(cycle_ms) / 1e3
        self.threshold = int(os.environ.get("HOROVOD_FUSION_THRESHOLD", str(128 * 2**20)))
        self.warn_s = float(os.environ.get("HOROVOD_STALL_CHECK_TIME_SECONDS", "60"))
        stall_s = float(os.environ.get("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0"))
        self.stall_s = stall_s or float("inf")
        self.timeline: Timeline | None = None
        self.lock, self.finished = threading.Lock(), threading.Condition()
        self.requested, self.hurry = threading.Event(), threading.Event()  # requested; waited for
        self.pending: dict[Key, Handle] = {}
        self.outbox: list[Request] = []
        self.uses: Counter[Key] = Counter()
        self.refused: dict[tuple[Key, int], str] = {}  # errors heard before this rank's request
        self.joined = Joined()
        self.gpu_of_zeros = int(os.environ.get("LOCAL_RANK", "0"))
        self.farewell, self.ended = "", None
        self.cycle_began = self.warned = time.perf_counter()
        self.cycles = 0
        self.thread = threading.Thread(target=self._run, name="horovod", daemon=True)
        self.thread.start()

    def submit(self, name: str, kind: str, tensors: list[Tensor], **details: object) -> Handle:
        """Request an operation and return at once.

        Raises ValueError for a name whose last use is not done yet, and informs the other ranks.
        """
        key = details.get("process_set", 0), name
        with self.lock:
            if self.ended:
                raise self.ended
            self.uses[key] += 1
            fault = ""
            if key in self.pending:
                fault = (
                    f"rank {self.rank} uses the name {name!r} again before its first use is done"
                )
            request = Request(name, kind, use=self.uses[key], fault=fault, **details)
            refusal = self.refused.pop((key, request.use), "")
            if not refusal:
                self.outbox.append(request)
            if not fault and not refusal:
                handle = self.pending[key] = Handle(request, tensors)
        self.requested.set()
        if fault:
            raise ValueError(fault)
        if refusal:
            raise HorovodInternalError(refusal)
        return handle

    def wait(self, handle: Handle) -> object:
        """Wait for the result that `synchronize` returns; raise the error if there is one."""
        if not handle.done:
            self.hurry.set()  # a program that waits requests nothing more, so the cycle can begin
        with self.finished:
            self.finished.wait_for(lambda: handle.done)
        if handle.error:
            raise handle.error
        return handle.results[0] if handle.single else handle.results

    def leave(self, patience: float | None = None) -> None:
        """End the engines of all ranks; operations still pending elsewhere fail there."""
        self.farewell = f"rank {self.rank} has shut down"
        self.requested.set()
        self.hurry.set()
        self.thread.join(patience)

    # -- on the engine's thread --------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self.ended:
                self._pause()
                self._cycle()
        except ConnectionError as error:
            self._end(HorovodInternalError(str(error)))
        except BaseException as error:  # a bug here or in the two parts: waiting programs raise it
            self._end(error)

    def _pause(self) -> None:
        """Collect for a cycle, or until the program waits; a rank without requests sleeps."""
        if not self.pending and not self.outbox:
            self.hurry.clear()
            if not self.requested.wait(IDLE_S):
                return
            self.cycle_began = time.perf_counter()
        self.hurry.wait(max(0.0, self.cycle_began + self.cycle_s - time.perf_counter()))
        self.hurry.clear()
        self.cycle_began = time.perf_counter()

    def _cycle(self) -> None:
        """Send new requests, receive those of all ranks, run the operations that all requested."""
        with self.lock:
            new, self.outbox = self.outbox, []
            self.requested.clear()
        received = exchange((new, self.farewell), self.control)
        now = time.perf_counter()
        self._listen(received, now)
        for number, team in self.teams.items():
            if self.rank not in team.ranks:
                continue
            answers = team.negotiation.answers()
            for answer in answers:
                if number == 0:
                    self.joined.open.pop(answer.key, None)
                if answer.error:
                    self._refuse(number, answer, team.explained(answer.error))
            agreed = [answer for answer in answers if not answer.error]
            for batch in self.fusion.fuse(agreed, self.threshold):
                self._perform(number, batch, now)
            self._look_for_stalls(team, now)
        self.cycles += 1
        if farewells := [farewell for _, farewell in received if farewell]:
            self._end(HorovodInternalError(farewells[0]))

    def _listen(self, received: list[tuple[list[Request], str]], now: float) -> None:
        """Hand each request, also those for joined ranks, to its process set's negotiation."""
        for rank, (requests, _) in enumerate(received):
            for request in requests:
                if self.rank in self.teams[request.process_set].ranks:
                    self.teams[request.process_set].hear(rank, request, now)
                if request.process_set == 0:
                    self.joined.hear(rank, request)
                if self.timeline:
                    self.timeline.heard(request.name, rank, now)
        for rank, request in self.joined.stand_ins():
            self.teams[0].hear(rank, request, now)
            if rank == self.rank:
                self.uses[0, request.name] = request.use

    def _perform(self, number: int, batch: list[Answer], agreed: float) -> None:
        """Run one message: several all-reduces, or one operation of another kind."""
        handles = [self._handle(number, answer) for answer in batch]
        phases = self.teams[number].runner.run(handles)
        if self.timeline:
            for handle in handles:
                name, kind = handle.request.name, handle.request.kind
                self.timeline.ran(name, kind, handle.requested, agreed, phases)
        self._settle(handles)

    def _handle(self, number: int, answer: Answer) -> Handle:
        """The handle that this rank submitted, or one with zeros if the rank has joined."""
        request = answer.requests[0]
        handle = self.pending.get((number, request.name))
        if handle is None:
            device = f"cuda:{self.gpu_of_zeros}" if request.device == "cuda" else "cpu"
            dtype = getattr(torch, request.dtype or "uint8")
            zeros = [torch.zeros(shape, dtype=dtype, device=device) for shape in request.shapes]
            handle = Handle(request, zeros)
        handle.agreed = answer.requests
        if request.kind == JOIN:
            handle.results = (self.joined.ranks[-1],)
            self.joined.ranks.clear()
        return handle

    def _refuse(self, number: int, answer: Answer, error: str) -> None:
        """Raise an error on every rank; on a rank without a request yet, when it requests."""
        name, use = answer.key
        key = number, name
        with self.lock:
            handle = self.pending.get(key)
            mine = handle is not None and handle.request.use == use
            if mine:
                self.outbox = [request for request in self.outbox if request is not handle.request]
            elif self.uses[key] < use:
                self.refused[key, use] = error
        if mine:
            self._settle([handle], HorovodInternalError(error))

    def _settle(self, handles: list[Handle], error: BaseException | None = None) -> None:
        """Mark the handles as done: their names are free again, and waiting threads go on."""
        with self.lock:
            for handle in handles:
                self.pending.pop(handle.key, None)
        with self.finished:
            for handle in handles:
                handle.error, handle.done = error, True
            self.finished.notify_all()

    def _look_for_stalls(self, team: Team, now: float) -> None:
        """Report late ranks, on the first rank of a set; give up after `stall_s` seconds."""
        if self.rank != team.ranks[0]:
            return
        if lost := team.missing(now, self.stall_s):
            self.farewell = f"given up after {self.stall_s:g} s: {_waiting(lost)}"
        elif now - self.warned > self.warn_s and (late := team.missing(now, self.warn_s)):
            self.warned = now
            warning = f"Stalled for more than {self.warn_s:g} s: {_waiting(late)}"
            print(warning, file=sys.stderr, flush=True)

    def _end(self, error: BaseException) -> None:
        with self.lock:
            self.ended = error
            handles = list(self.pending.values())
        self._settle(handles, error)


def _waiting(late: dict[str, list[int]]) -> str:
    """Describe which operations wait for which ranks."""
    return "; ".join(
        f"{name!r} waits for rank {', '.join(map(str, ranks))}" for name, ranks in late.items()
    )
