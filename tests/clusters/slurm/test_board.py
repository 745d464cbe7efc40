"""The board of a cluster."""

from course.clusters.slurm import board, records


def test_the_board_shows_who_holds_what_and_until_when(recorded):
    picture = recorded.board()
    assert picture.startswith("<svg") and "GPUs are held" in picture
    for words in ("ana: vision", "reserved: ana", "Recorded on", "node3"):
        assert words in picture
    assert "waiting: chi: large_model, 3 nodes × 4 GPUs, to start in" in picture


def test_a_board_of_a_large_cluster_shows_the_first_nodes_and_says_so():
    nodes = [records.Node(f"n{i}", "IDLE", 8, ("p",)) for i in range(100)]
    picture = board.live(nodes, [], [], now=0)
    assert "and 92 more nodes" in picture and "0 of 800 GPUs are held" in picture


def test_a_node_that_is_out_says_why():
    nodes = [
        records.Node("n1", "DOWN+DRAIN", 2, ("p",), "a fan"),
        records.Node("n2", "IDLE", 2, ("p",)),
    ]
    picture = board.live(nodes, [], [], now=0)
    assert "out: a fan" in picture and "0 of 2 GPUs are held" in picture
