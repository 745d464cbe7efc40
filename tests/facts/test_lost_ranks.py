"""What the course says about groups that lose a rank, and about the store that outlives it."""

import inspect
import socket
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from support.patience import PATIENCE_S
from support.says import says
from torch.distributed import distributed_c10d as c10d
from torch.distributed.elastic.rendezvous import dynamic_rendezvous

LAB = "12b_no_dead_stops"
SHORT, LONG = timedelta(seconds=0.5), timedelta(seconds=PATIENCE_S)


@pytest.fixture
def store() -> dist.TCPStore:
    """A TCP store on loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    options = {"master_listen_fd": listener.detach(), "wait_for_workers": False, "timeout": LONG}
    return dist.TCPStore("127.0.0.1", port, is_master=True, **options)


def test_the_calls_of_a_store(store):
    says(LAB, "compare_set")
    store.append("list", "a ")
    store.append("list", "b ")
    assert store.get("list") == b"a b "
    assert store.check(["list"]) and not store.check(["other"])
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError):
        store.get("other")
    store.set_timeout(LONG)
    assert [store.compare_set("key", "", value) for value in ("one", "two")] == [b"one", b"one"]


def test_a_failed_group_is_counted(store):
    says(LAB, "global variables")
    before = c10d._world.group_count
    with pytest.raises(RuntimeError):
        dist.init_process_group("gloo", store=store, rank=0, world_size=2, timeout=SHORT)
    counted, c10d._world.group_count = c10d._world.group_count, before
    assert not dist.is_initialized()
    assert counted == before + 1  # and so are the keys of the next group, on this rank alone


def test_a_gloo_group_of_its_own(store):
    says(LAB, "`group_of`")
    assert "ProcessGroupGloo" in c10d.__all__
    group, tensor = dist.ProcessGroupGloo(store, 0, 1, LONG), torch.ones(2)
    group.allreduce(tensor).wait()
    assert (group.rank(), group.size()) == (0, 1) and tensor.tolist() == [1, 1]


def test_restarted_ranks_share_the_store_of_the_dead(store, monkeypatch):
    says(LAB, "2.15")
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "RANK": "0"}
    for name, value in {**place, "WORLD_SIZE": "1", "TORCHELASTIC_USE_AGENT_STORE": "True"}.items():
        monkeypatch.setenv(name, value)
    for life, restarted in ((0, False), (1, True)):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(life))
        own, _, _ = next(iter(dist.rendezvous("env://", timeout=LONG)))
        assert own.check(["address"]) == restarted  # the same keys in each life
        own.set("address", "of this life")
    switch = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
    assert switch in inspect.getsource(dynamic_rendezvous.DynamicRendezvousHandler)


@pytest.mark.usefixtures("group_of_one")
def test_only_some_backends_shrink():
    says(LAB, "`dist.shrink_group(ranks_to_exclude)`")
    assert not dist.group.WORLD._get_backend(torch.device("cpu")).supports_shrinking
    taken = inspect.signature(dist.shrink_group).parameters
    assert {"ranks_to_exclude", "shrink_flags"} <= set(taken)
    assert "SHRINK_ABORT" in inspect.getdoc(dist.shrink_group)
    assert taken["shrink_flags"].default != c10d.SHRINK_ABORT


def test_aborting_a_group_of_nccl():
    says(LAB, "_abort_process_group")
    text = inspect.getdoc(c10d._abort_process_group)
    assert "experimental" in text and "TORCH_NCCL_ASYNC_ERROR_HANDLING" in text
