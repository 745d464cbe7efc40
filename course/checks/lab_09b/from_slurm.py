"""Checks of `from_slurm`, exercise 1 of lab 09b."""

from course.checks.lab_09b import on_rank_from_slurm as on_rank
from course.checks.tools.hint import hint


class TestFromSlurm:
    """Exercise 1: a task that Slurm started becomes a rank."""

    def results(self, alone, *cases):
        """(case, what `environment` makes of its tasks) by case (node list, job, tasks by node)."""
        return zip(cases, alone(on_rank.environments, cases), strict=True)

    @hint("One of Slurm's variables counts the tasks of the whole job, from 0.")
    def test_rank(self, alone):
        """RANK counts the tasks over all nodes."""
        for _, result in self.results(alone, ("node[3-5]", 4711, (3, 1, 2))):
            got = [env["RANK"] for env in result]
            assert got == ["0", "1", "2", "3", "4", "5"], (
                f"six tasks, 3, 1 and 2 of them on three nodes, have the ranks {got}"
            )

    @hint("LOCAL_RANK chooses the GPU, so it must count within a node.")
    def test_local_rank(self, alone):
        """LOCAL_RANK counts within a node."""
        for _, result in self.results(alone, ("node[3-5]", 4711, (3, 1, 2))):
            got = [env["LOCAL_RANK"] for env in result]
            assert got == ["0", "1", "2", "0", "0", "1"], (
                f"six tasks, 3, 1 and 2 of them on three nodes, have the local ranks {got}"
            )

    @hint("How many tasks does the whole job have? Its nodes may have different numbers of them.")
    def test_world_size(self, alone):
        """WORLD_SIZE is the number of all tasks, even if nodes have different numbers of them."""
        cases = [("node[3-4]", 4711, tasks) for tasks in ((2, 2), (3, 1), (1,))]
        for (_, _, tasks), result in self.results(alone, *cases):
            got = {env["WORLD_SIZE"] for env in result}
            assert got == {str(sum(tasks))}, (
                f"{sum(tasks)} tasks, {tasks} per node, have the WORLD_SIZE {sorted(got)}"
            )

    @hint(
        "All tasks must meet on one and the same node: which name do all of them know? "
        "The script has a function that reads a list of nodes."
    )
    def test_address(self, alone):
        """All tasks meet on the job's first node, whatever the list of its nodes looks like."""
        first = {
            "node[3-4]": "node3",
            "gpu[07-09,12]": "gpu07",
            "gpu-a[01-02]": "gpu-a01",
            "login,gpu1": "login",
            "login,gpu[3-4]": "login",
            "rack[1-2]n[3-4]": "rack1n3",
            "n[1-2]-ib": "n1-ib",
        }
        cases = [(nodelist, 4711, (2, 2)) for nodelist in first]
        for (nodelist, _, _), result in self.results(alone, *cases):
            got = {env["MASTER_ADDR"] for env in result}
            assert got == {first[nodelist]}, (
                f"the tasks of a job on {nodelist} meet at {sorted(got)}"
            )

    @hint(
        "All tasks of one job must compute the same port, and the next job another one: what do "
        "only this job's tasks share? Linux gives out 32768 to 60999 itself, so stay below them."
    )
    def test_port(self, alone):
        """All tasks of a job take one port, and neighbouring jobs take different ones.
        Every port is valid, and none is one that Linux gives to outgoing connections.
        """
        by_job, small, large = {}, (1, 2, 3), (98_765_431, 98_765_432, 98_765_433)
        cases = [("node[3-4]", job, (2, 2)) for job in small + large]
        for (_, job, _), result in self.results(alone, *cases):
            got = {env["MASTER_PORT"] for env in result}
            assert len(got) == 1, f"the tasks of job {job} take the ports {sorted(got)}"
            by_job[job] = int(got.pop())
        for jobs in (small, large):
            taken = [by_job[job] for job in jobs]
            assert len(set(taken)) == 3, f"the jobs {[*jobs]} take the ports {taken}"
        by_job |= {job: int(port) for job, port in enumerate(alone(on_rank.ports, 2**16), 1)}
        for job, port in by_job.items():
            assert 1024 <= port <= 65535, (
                f"a port must lie between 1024 and 65535, and job {job} takes {port}"
            )
            assert not 32768 <= port <= 60999, (
                f"job {job} takes port {port}: Linux may already have given it to an outgoing "
                "connection"
            )

    @hint("`os.environ` takes only text: is every value a string?")
    def test_joins(self, ranks):
        """Four processes with these variables join one group."""
        results = ranks(4, on_rank.join_as_tasks, join=False)
        assert results == [(rank, 6.0) for rank in range(4)], (
            f"(rank, sum of all ranks) are {results}"
        )

    @hint("The result may depend only on `task`, not on the environment of this process.")
    def test_pure(self, alone):
        """environment() reads only the task's variables. It changes neither them nor those of this
        process.
        """
        changed, leaked = alone(on_rank.environment_is_pure)
        assert not changed, f"it changes variables itself: {', '.join(changed)}"
        assert not leaked, f"it depends on this process's own environment: {leaked}"
