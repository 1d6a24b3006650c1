"""The mutation run: which changes to the code that decides and edits no test would notice."""
