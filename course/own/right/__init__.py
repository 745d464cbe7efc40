"""Whether ranks compute what they should: data of all ranks in, findings and a table out."""
