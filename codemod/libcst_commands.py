"""The patches as commands of `python -m libcst.tool codemod`, for people who use that already.

Each patch is a class of this module, named after it: `SkipMdsEnvValue`. An edit is accepted on
the same conditions as by `codemod apply`; a file that is refused is skipped with the reason.
Nothing else imports this module: `libcst.codemod` alone takes longer to load than a rewrite.
"""

from __future__ import annotations

import libcst as cst
from libcst.codemod import CodemodContext, SkipFile, VisitorBasedCodemodCommand

from codemod.engine import plan
from codemod.model import Outcome, Patch
from codemod.registry import load


class PatchCommand(VisitorBasedCodemodCommand):
    """Applies one patch to one file."""

    patch: Patch

    def __init__(self, context: CodemodContext) -> None:
        super().__init__(context)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """The patched module; raises `SkipFile` where the patch is refused."""
        planned = plan(tree.bytes, [self.patch])
        (step,) = planned.steps
        if step.outcome is Outcome.REFUSED:
            place = f"line {step.line}: " if step.line else ""
            raise SkipFile(f"{place}{step.why}")
        return cst.parse_module(planned.after) if planned.changes else tree


def _command(patch: Patch) -> type[PatchCommand]:
    name = "".join(word.capitalize() for word in patch.id.split("_"))
    held = {"patch": patch, "DESCRIPTION": patch.title, "__module__": __name__}
    return type(name, (PatchCommand,), held)


globals().update({command.__name__: command for command in map(_command, load())})
