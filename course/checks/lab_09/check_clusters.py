"""Checks of lab 09: an all-reduce in two levels, ranks started by Slurm, training that survives interruptions."""

from course.checks.engine.catalogue import hint
from course.checks.lab_09 import on_rank_clusters as on_rank
from course.checks.lab_09 import on_rank_resumable as training

SIZES = (2, 3, 6)  # ranks a node, of six ranks


class TestTwoLevel:
    """Exercise 1: an all-reduce that adds up within each node first."""

    exercise = "two_level"

    def each(self, ranks):
        """(ranks a node, results by rank), all from one set of six ranks."""
        by_rank = ranks(6, on_rank.two_level, SIZES)
        for size in SIZES:
            yield size, [results[size] for results in by_rank]

    @hint("within the node, between the leaders, within the node: does every rank see all three?")
    def test_sum(self, ranks):
        """Every rank's tensor becomes the sum over all six ranks, as three nodes, two and one; and so again."""
        for size, results in self.each(ranks):
            for rank, result in enumerate(results):
                first, again = result["sum"][0], result["again"][0]
                assert result["sum"] == [21.0] * 4, (
                    f"{size} ranks a node: rank {rank} has {first:g}, not 1 + … + 6 = 21"
                )
                assert result["again"] == [126.0] * 4, (
                    f"{size} ranks a node: called again, rank {rank} has {again:g}, not 126"
                )

    @hint("who talks to other nodes? look at the members of the group of each call")
    def test_cable(self, ranks):
        """One message crosses from node to node, between one rank of each; none where there is one node."""
        for size, results in self.each(ranks):
            crossing = {
                tuple(call["ranks"])
                for result in results
                for call in result["calls"]
                if call["crosses"]
            }
            leaders = tuple(range(0, 6, size))
            wanted = {leaders} if size < 6 else set()
            assert crossing == wanted, (
                f"{size} ranks a node: what crosses is among the ranks {sorted(crossing)}"
            )
            most = max(sum(call["crosses"] for call in result["calls"]) for result in results)
            assert most <= 1, f"{size} ranks a node: a rank sends {most} messages to other nodes"

    @hint("is what the leaders exchange as large as the tensor, or as all ranks' tensors together?")
    def test_bytes(self, ranks):
        """What crosses is as large as the tensor, however many ranks a node has."""
        for size, results in self.each(ranks):
            sent = max(
                (
                    call["numel"]
                    for result in results
                    for call in result["calls"]
                    if call["crosses"]
                ),
                default=0,
            )
            assert sent == (4 if size < 6 else 0), (
                f"{size} ranks a node: {sent} numbers cross for a tensor of 4"
            )

    @hint("groups cost connections: make them once, in the constructor")
    def test_groups(self, ranks):
        """Groups are made in the constructor, not in each call."""
        for size, results in self.each(ranks):
            made = max(result["groups_in_call"] for result in results)
            assert made == 0, f"{size} ranks a node: an all_reduce makes {made} groups"


class TestFromSlurm:
    """Exercise 2: a task that Slurm started becomes a rank."""

    exercise = "from_slurm"

    def each(self, ranks, *cases):
        """(case, what `environment` makes of each task) for cases of (node list, job, tasks on each node)."""
        return zip(cases, ranks(1, on_rank.environments, cases, join=False)[0], strict=True)

    @hint("one variable counts the tasks of the whole job, from 0")
    def test_rank(self, ranks):
        """RANK counts the tasks over all nodes."""
        for _, found in self.each(ranks, ("node[3-4]", 4711, (2, 1))):
            got = [env["RANK"] for env in found]
            assert got == ["0", "1", "2"], (
                f"three tasks, two of them on the first node, have the ranks {got}"
            )

    @hint("LOCAL_RANK picks the GPU: it counts within a node")
    def test_local_rank(self, ranks):
        """LOCAL_RANK counts within a node."""
        for _, found in self.each(ranks, ("node[3-4]", 4711, (2, 1))):
            got = [env["LOCAL_RANK"] for env in found]
            assert got == ["0", "1", "0"], (
                f"two tasks on one node and one on another have the local ranks {got}"
            )

    @hint("how many tasks has the job? nodes may have different numbers of them")
    def test_world_size(self, ranks):
        """WORLD_SIZE is the number of tasks, also where nodes have different numbers of them."""
        for (_, _, tasks), found in self.each(
            ranks, *(("node[3-4]", 4711, tasks) for tasks in ((2, 2), (3, 1), (1,)))
        ):
            got = {env["WORLD_SIZE"] for env in found}
            assert got == {str(sum(tasks))}, (
                f"{sum(tasks)} tasks, {tasks} a node, see a world of {sorted(got)}"
            )

    @hint("every task of the job must go to one and the same node: which name do all of them know?")
    def test_address(self, ranks):
        """All tasks meet on the job's first node, whatever the list of its nodes looks like."""
        first = {"node[3-4]": "node3", "gpu[07-09,12]": "gpu07", "login,gpu1": "login"}
        for (nodelist, _, _), found in self.each(
            ranks, *((nodelist, 4711, (2, 2)) for nodelist in first)
        ):
            got = {env["MASTER_ADDR"] for env in found}
            assert got == {first[nodelist]}, (
                f"the tasks of a job on {nodelist} meet at {sorted(got)}"
            )

    @hint(
        "a port that all tasks of a job compute alike, and another job otherwise: what do only its tasks share?"
    )
    def test_port(self, ranks):
        """All tasks of a job take one port; neighbouring jobs take different ones; every port is one that exists."""
        ports, jobs = {}, (1, 2, 3, 65_536, 1_234_567, 98_765_432)
        for (_, job, _), found in self.each(ranks, *(("node[3-4]", job, (2, 2)) for job in jobs)):
            got = {env["MASTER_PORT"] for env in found}
            assert len(got) == 1, f"the tasks of job {job} take the ports {sorted(got)}"
            ports[job] = int(got.pop())
        assert len({ports[1], ports[2], ports[3]}) == 3, (
            f"jobs 1, 2 and 3 take the ports {[ports[i] for i in (1, 2, 3)]}"
        )
        beyond = {job: port for job, port in ports.items() if not 1024 <= port <= 65535}
        assert not beyond, f"a port lies between 1024 and 65535; by job, these do not: {beyond}"

    @hint("`os.environ` takes text: is every value a string?")
    def test_joins(self, ranks):
        """With these variables four processes join one group."""
        results = ranks(4, on_rank.join_as_tasks, join=False)
        assert results == [(rank, 6.0) for rank in range(4)], (
            f"(rank, sum of all ranks) are {results}"
        )

    @hint("the script must not depend on anything but what Slurm sets")
    def test_pure(self, ranks):
        """environment() reads only the task's variables and leaves them as they were."""
        (changed, leaked) = ranks(1, on_rank.environment_is_pure, join=False)[0]
        assert not changed, f"it changes the task's variables: {changed}"
        assert not leaked, f"it depends on this process's own environment: {leaked}"


class TestResumable:
    """Exercise 3: training that survives interruptions, and a change of the number of ranks."""

    exercise = "resumable"

    @hint("what must not depend on how many ranks there are: the samples that a step sees")
    def test_share(self, ranks):
        """The ranks' shares of a step are equal parts of one batch, the same for two ranks and for three."""
        seen = {}
        for world_size in (2, 3):
            by_rank = ranks(world_size, training.shares, (1,))
            sizes = sorted({len(shares[1]) for shares in by_rank})
            assert len(sizes) == 1, (
                f"{world_size} ranks: their shares of a step have the sizes {sizes}"
            )
            seen[world_size] = sorted(index for shares in by_rank for index in shares[1])
            twice = len(seen[world_size]) - len(set(seen[world_size]))
            assert not twice, f"{world_size} ranks: {twice} samples of a step are seen twice"
        both = len(set(seen[2]) & set(seen[3]))
        assert seen[2] == seen[3], (
            f"2 ranks see {len(seen[2])} samples in a step, 3 ranks {len(seen[3])}; {both} are the same"
        )

    @hint("which step is it? all ranks know the number, and it is all that the order may depend on")
    def test_steps_differ(self, ranks):
        """Each step sees other samples."""
        first, second = (set(share) for share in ranks(1, training.shares, (1, 2))[0].values())
        assert len(first & second) < len(first) / 2, (
            f"{len(first & second)} of {len(first)} samples are in steps 1 and 2"
        )

    @hint("a rank that was told and one that was not must give the same answer")
    def test_agree(self, ranks):
        """all_stop() says the same on every rank: yes where one was told, whichever, and no where none was."""
        cases = (None, 0, 1, 2)
        for told, answers in zip(
            cases, zip(*ranks(3, training.agreement, cases), strict=True), strict=True
        ):
            who = "no rank" if told is None else f"rank {told}"
            assert answers == (told is not None,) * 3, (
                f"{who} was told to stop; the ranks answer {list(answers)}"
            )

    @hint("a signal to one rank must be heard by all in the same step")
    def test_stops_together(self, ranks):
        """A signal to one rank stops all after the same step, with that step saved."""
        results = ranks(2, training.interrupted, 1, 3)
        assert [done for done, _ in results] == [3, 3], (
            f"the ranks stopped after the steps {[d for d, _ in results]}"
        )
        assert results[0][1] == 3, (
            f"they stopped after step 3; the checkpoint is of step {results[0][1]}"
        )

    @hint(
        "a share may depend on the step and on this rank, on nothing that a new process has forgotten"
    )
    def test_goes_on(self, ranks):
        """Interrupted after step 3 and started again, it ends with the weights of a run without interruption."""
        off = max(ranks(2, training.resumed))
        assert off == 0, f"the weights differ by {off:.2g} from those of a run without interruption"

    @hint("together, two ranks must go on with the very samples that three would have seen")
    def test_fewer_ranks(self, ranks, tmp_path):
        """Begun on three ranks and continued on two, it ends with the weights of two from the start, to rounding."""
        ranks(3, training.run, str(tmp_path / "parts.pt"), 3)
        off = max(ranks(2, training.continued, str(tmp_path)))
        assert off < 1e-4, f"the weights differ by {off:.2g} from those of a run on two ranks"
