"""Distribution strategies: where variables live, what a step moves, what survives a death."""

from dataclasses import dataclass

from course.core import CourseError, words

MIRRORED, CENTRAL = "Mirrored", "CentralStorage"
WORKERS, SERVER = "MultiWorkerMirrored", "ParameterServer"
STRATEGIES = (MIRRORED, CENTRAL, WORKERS, SERVER)
OPTIMIZERS = {"SGD": 0, "momentum": 1, "Adam": 2}  # numbers that it keeps for each weight
NOTHING, WORKER, CENTRE = "nothing", "a worker", "the centre"
DEATHS = (NOTHING, WORKER, CENTRE)


@dataclass(frozen=True)
class Holder:
    """A device or the centre: what it holds in MiB; `fate` is "goes on", "stops" or "dead"."""

    name: str
    weights: float
    gradients: float
    state: float
    fate: str

    @property
    def total(self) -> float:
        """All that it holds, in MiB."""
        return self.weights + self.gradients + self.state


@dataclass(frozen=True)
class Placement:
    """A strategy on a number of devices: its places, and one step of all replicas together.

    `centre` is None if there is none. A replica sends `sent` MiB and receives as much; the
    busiest link carries `busiest` MiB in `transfer_ms`. The replicas make `updates` updates of the
    variables in a step.
    """

    strategy: str
    devices: tuple[Holder, ...]
    centre: Holder | None
    sent: float
    busiest: float
    transfer_ms: float
    updates: int

    @property
    def memory(self) -> float:
        """The memory that a device needs, in MiB."""
        return self.devices[0].total

    @property
    def survivors(self) -> int:
        """The number of devices that go on."""
        return sum(place.fate == "goes on" for place in self.devices)


def plan(
    strategy: str, devices: int, mib: float, optimizer: str, gb_per_s: float, dies: str = NOTHING
) -> Placement:
    """Compute where the variables of a model of `mib` MiB live, and what a step moves.

    The links carry `gb_per_s` each way. The mirrored strategies use a ring all-reduce: 2(N-1)/N of
    the gradients leave every device. At a centre, N sets of gradients arrive and N sets of weights
    leave: one after the other for CentralStorage, because the weights wait for the update; both
    ways at once for a busy server. Raises `CourseError` for impossible values.
    """
    if strategy not in STRATEGIES or optimizer not in OPTIMIZERS or dies not in DEATHS:
        known = ", ".join((*STRATEGIES, *OPTIMIZERS, *DEATHS))
        raise CourseError(f"A plan is for one of {known}.")
    if min(devices, mib, gb_per_s) <= 0:
        raise CourseError("A plan needs at least one device, and a model and a link above 0.")
    state, central = OPTIMIZERS[optimizer] * mib, strategy in (CENTRAL, SERVER)
    fates = _fates(strategy, devices, dies)
    places = tuple(
        Holder(str(i), mib, mib, 0 if central else state, fate)
        for i, fate in enumerate(fates[:devices])
    )
    centre = None
    if central:
        name = "server" if strategy == SERVER else "host"
        centre = Holder(name, mib, mib, state, fates[-1])
    sent = mib if central else 2 * (devices - 1) / devices * mib
    busiest = {CENTRAL: 2 * devices * mib, SERVER: devices * mib}.get(strategy, sent)
    transfer_ms = busiest * words.MIB / (gb_per_s * 1e9) * 1e3
    updates = devices if strategy == SERVER else 1
    return Placement(strategy, places, centre, sent, busiest, transfer_ms, updates)


def _fates(strategy: str, devices: int, dies: str) -> list[str]:
    """The fate of each device and, last, of the centre; the worker that dies is the last device."""
    central = strategy in (CENTRAL, SERVER)
    if dies == NOTHING or (dies == CENTRE and not central):
        return ["goes on"] * (devices + 1)
    if dies == CENTRE:
        return ["stops"] * devices + ["dead"]
    others = "goes on" if strategy == SERVER else "stops"
    return [others] * (devices - 1) + ["dead", others]
