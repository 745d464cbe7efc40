"""A script imports no more than its data and its model need."""

import pytest
from support.python import run_python


@pytest.mark.slow
@pytest.mark.rest
def test_scripts_need_no_jupyter_and_import_little():
    blocked = ("IPython", "jupyter_client", "ipywidgets", "anywidget", "matplotlib")
    heavy = ("transformers", "datasets", "sklearn", "pandas")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
from course import models
from course.data import digits, hub, nli
print([name for name in {heavy} if name in sys.modules])
nli.tokenized("validation", size=10), digits.load(), models.bert(), models.image_model()
"""
    run = run_python(code)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[]\n"
