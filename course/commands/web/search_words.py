"""Words by which the search of the site finds a lab before any other page.

They are those that the glossary says a lab is about, and a few that people look for.
"""

import re

ENTRY = re.compile(r"^### (?P<term>[^\n(]+?)(?: \([^)]*\))?\n(?P<text>[^\n]+)", re.MULTILINE)
LABS = re.compile(r"\(labs? ([^)]*)\)\s*$")
NUMBER = re.compile(r"\b\d\d[a-z]?\b")
ALSO = {
    "01": ("DataParallel",),
    "02": ("ring all-reduce",),
    "03": ("DistributedDataParallel",),
    "05": ("Apex", "amp"),
    "06": ("Horovod",),
    "07": ("tf.distribute",),
    "10": ("ZeRO-1", "ZeRO-2"),
    "10b": ("ZeRO-3", "fully_shard"),
    "11": ("tensor parallelism", "Megatron"),
}


def of_lab(number: str, glossary: str) -> list[str]:
    """The words of the lab with this number."""
    terms = list(ALSO.get(number, ()))
    for entry in ENTRY.finditer(glossary):
        labs = LABS.search(entry["text"])
        if labs and number in NUMBER.findall(labs[1]):
            terms += [term.strip("`") for term in entry["term"].split(", ")]
    return terms
