"""The board of servers over time."""

from support.pictures import assert_fits

from course.drawing import board

SERVERS = [board.BoardServer("node1", 4), board.BoardServer("node2", 4, note="a fan")]


def test_a_bar_is_one_mark_for_each_run_of_neighbouring_gpus():
    picture = board.draw(
        "Who holds what",
        SERVERS,
        [board.Bar("node1", (0, 1, 3), 0, 5, "ana", tip="job 7")],
        10,
        "h",
    )
    assert picture.count("<title>job 7</title>") == 2
    assert "ana held on node1, 3 GPUs, from 0 to 5 (h)." in picture.alt
    assert_fits(picture)


def test_lines_stand_below_the_board_and_an_extra_drawing_below_those():
    places = []

    def extra(y: float) -> list[str]:
        places.append(y)
        return []

    for lines in ([], ["waiting: ben", "waiting: chi"]):
        board.draw("t", SERVERS, [], 10, "h", lines, extra=extra, extra_height=40)
    assert places[1] - places[0] == 2 * board.LINE


def test_a_server_that_is_out_says_why_and_unknown_servers_are_left_out():
    picture = board.draw("t", SERVERS, [board.Bar("gone", (0,), 0, 1, "x", tip="here")], 10, "h")
    assert "out: a fan" in picture and "<title>here</title>" not in picture
