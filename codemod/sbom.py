"""The bill of materials of a patched wheel (PEP 770): made from what, by which patches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclonedx.model.component import Patch as Applied

    from codemod.model import Patch


def sbom(
    *,
    ancestor: str,
    ancestor_sha256: str,
    version: str,
    patches: Sequence[tuple[Patch, str]],
    when: tuple[int, ...],
) -> bytes:
    """The CycloneDX document, as JSON in UTF-8, the same for the same arguments.

    `ancestor` is the file name of upstream's wheel, `patches` are those that were applied, each
    with its diff, `when` is year to second in UTC.
    """
    # These take longer to load than all else together.
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, Pedigree
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    old = version.partition("+")[0]
    told = " ".join([ancestor_sha256, version, *(diff for _, diff in patches)])
    digest = HashType(alg=HashAlgorithm.SHA_256, content=ancestor_sha256)
    upstream = Component(
        name="jax",
        version=old,
        bom_ref=f"upstream:{ancestor}",
        purl=PackageURL("pypi", None, "jax", old, {"file_name": ancestor}),
        hashes=[digest],
    )
    pedigree = Pedigree(ancestors=[upstream], patches=[_patch(*each) for each in patches])
    made = Component(
        name="jax",
        version=version,
        bom_ref=f"jax=={version}",
        purl=PackageURL("pypi", None, "jax", version),
        pedigree=pedigree,
    )
    document = Bom(
        serial_number=uuid5(NAMESPACE_URL, told),
        metadata=BomMetaData(component=made, timestamp=_time(when)),
    )
    return JsonV1Dot6(document).output_as_string(indent=1).encode() + b"\n"


def _patch(patch: Patch, diff: str) -> Applied:
    from cyclonedx.model import AttachedText, XsUri
    from cyclonedx.model.component import Diff, PatchClassification
    from cyclonedx.model.component import Patch as Applied
    from cyclonedx.model.issue import IssueClassification, IssueType

    issue = IssueType(
        type=IssueClassification.DEFECT,
        id=patch.id,
        name=patch.title,
        references=[XsUri(patch.bug)],
    )
    kind = (
        PatchClassification.BACKPORT if patch.fixed_upstream_in else PatchClassification.UNOFFICIAL
    )
    return Applied(type=kind, diff=Diff(text=AttachedText(content=diff)), resolves=[issue])


def _time(when: tuple[int, ...]) -> datetime:
    """The time of a member; some archivers write one that is none, such as month 0."""
    year, month, day, hour, minute, second = when
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=UTC)
