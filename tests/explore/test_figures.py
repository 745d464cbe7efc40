"""The drawings in images/."""

from support.pictures import assert_fits, assert_legible

from course import explore


def test_every_still_fits_is_legible_and_is_the_same_when_drawn_again():
    stills = explore.figures()
    assert {"buckets.svg", "buckets_off.svg", "ddp_step.svg", "ddp_constructor.svg"} <= set(stills)
    for name, picture in stills.items():
        assert_fits(picture)
        assert_legible(picture)
        assert " id=" not in picture, name
    assert explore.figures() == stills
