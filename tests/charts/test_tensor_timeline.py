"""The timeline of tensors in an engine's queue."""

import json

from support.pictures import assert_fits

from course.charts.tensor_timeline import tensor_timeline


def test_a_timeline_of_many_long_names_fits(tmp_path):
    events = []
    for i in range(20):
        events.append(
            {"ph": "M", "pid": i, "args": {"name": f"a.very.long.name.of.a.parameter.{i}"}}
        )
        events += [
            {"ph": "i", "pid": i, "ts": 100.0 * i, "args": {"rank": rank}} for rank in range(4)
        ]
        for place, what in enumerate(("NEGOTIATE_ALLREDUCE", "QUEUE", "ALLREDUCE")):
            events.append(
                {"ph": "X", "name": what, "pid": i, "ts": 100.0 * (i + place), "dur": 90.0}
            )
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    picture = tensor_timeline(tmp_path / "t.json")
    assert_fits(picture)
    assert "14 tensors" in picture and "6 more" in picture
