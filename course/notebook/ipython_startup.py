"""Run first in every kernel of `make lab`: the course's magics load the course on first use.

After a restart, people continue where they were, at a `%check`, and not at the first cell.
PYTHONSTARTUP names this file, so each `python` that someone types in a terminal runs it, too.
"""

if "get_ipython" in globals():

    def _load_on_first_use(name, kind="line"):
        shell = get_ipython()  # noqa: F821

        def magic(*arguments):
            print(
                "The course was not loaded in this kernel; now it is. "
                "If a name is missing, run the first cells of the lab."
            )
            shell.run_line_magic("load_ext", "course")
            find = shell.find_line_magic if kind == "line" else shell.find_cell_magic
            return find(name)(*arguments)

        shell.register_magic_function(magic, kind, name)

    _NAMES = (
        "accelerate",
        "changes",
        "check",
        "fit",
        "hint",
        "python",
        "right",
        "solution",
        "timeout",
        "torchrun",
        "why",
    )
    for _name in _NAMES:  # all except `%reset`, because IPython has its own
        _load_on_first_use(_name)
    _load_on_first_use("guess", "cell")
    del _load_on_first_use, _NAMES, _name
