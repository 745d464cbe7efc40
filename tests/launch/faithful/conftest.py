"""Scripts run by warm ranks behave as in a terminal.

Each script here runs both ways, and the outcomes are compared. Known and accepted differences: the
stack below a script's first frame is not empty (`sys._getframe().f_back`), `hash` of text is the
same on all ranks of a client unless PYTHONHASHSEED is set, OMP_NUM_THREADS may be more than the
cores, and a source file that cannot be decoded, or an exception hook that itself fails, is reported
in slightly different words.
"""

from collections.abc import Iterator

import pytest
from support.launching import Client


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("labs"), warm=True)
    yield client
    client.close()
    left = {path.name.partition("_")[0] for path in client.temporary.iterdir()}
    assert left <= {"torchelastic", "torchinductor"}, (
        "bare torchrun leaves some temporary files, the launcher none"
    )
    assert "Traceback" not in client.noise
