"""A Hub that is unreachable or does not know a name gives one sentence, and no hang."""

import socket

import datasets
import pytest
from support.errors import one_sentence

from course.core.errors import CourseError
from course.data import hub, nli


@pytest.mark.parametrize("accepts", [False, True], ids=["refuses", "never answers"])
def test_without_the_hub_a_name_fails_in_one_sentence(accepts, monkeypatch):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if accepts:
            server.listen()
        monkeypatch.setattr(
            "huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}"
        )
        monkeypatch.setattr(hub, "PATIENCE_S", 0.5)
        for load in (nli.load, nli.make_tokenizer):
            with pytest.raises(
                CourseError,
                match=r"'nobody/nothing' \(the Hub cannot be reached from here\).*embedded",
            ) as error:
                load("nobody/nothing")
            assert one_sentence(error.value)
    assert not datasets.config.HF_HUB_OFFLINE


def test_a_name_that_the_hub_does_not_know_gives_its_reason(monkeypatch):
    def unknown(name: str) -> None:
        raise datasets.exceptions.DatasetNotFoundError(
            f"Dataset '{name}' doesn't exist on the Hub.\nMore lines."
        )

    monkeypatch.setattr(hub, "_hub_answers", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", unknown)
    with pytest.raises(
        CourseError, match=r"\(Dataset 'a/b' doesn't exist on the Hub\): check the name.*embedded"
    ) as error:
        nli.load("a/b")
    assert one_sentence(error.value)
