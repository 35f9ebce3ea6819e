"""ACLs, quotas and SCRAM users of a stored cluster, as a filter of an admin client wants them.

Kafka: ResourcePatternFilter.matches, AccessControlEntryFilter.matches,
ClientQuotaCache.describeClientQuotas, ScramImage.describe (4.2)
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.inspection.cluster.image import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    AclEntry,
    StoredCluster,
)
from workbench.server.protocol import responses
from workbench.server.protocol.requests import (
    DescribeAclsRequestData,
    DescribeClientQuotasRequestComponentData,
)
from workbench.server.protocol.responses import (
    DescribeUserScramCredentialsResponseCredentialInfo,
)

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
"""How a component of a filter on quotas matches an entity's name."""

_ANY: Final = "ANY"
_MATCH: Final = "MATCH"
_WILDCARD: Final = "*"


def _codes(names: Mapping[int, str]) -> dict[str, int]:
    return {name: code for code, name in names.items()}


_RESOURCE_CODES: Final = _codes(RESOURCE_TYPES)
_PATTERN_CODES: Final = _codes(PATTERN_TYPES)
_OPERATION_CODES: Final = _codes(OPERATIONS)
_PERMISSION_CODES: Final = _codes(PERMISSIONS)
_MECHANISM_CODES: Final = _codes(SCRAM_MECHANISMS)


def acl_resources(
    cluster: StoredCluster, wanted: DescribeAclsRequestData
) -> list[responses.DescribeAclsResponseResource]:
    """Return the ACLs that a DescribeAcls request wants, by resource.

    Args:
        cluster: the state.
        wanted: the request's fields.
    """
    found: dict[tuple[str, str, str], list[responses.DescribeAclsResponseAclDescription]] = {}
    for entry in sorted(cluster.acls.values()):
        if _matches_resource(entry, wanted) and _matches_entry(entry, wanted):
            acl: responses.DescribeAclsResponseAclDescription = {
                "principal": entry.principal,
                "host": entry.host,
                "operation": _OPERATION_CODES.get(entry.operation, 0),
                "permissionType": _PERMISSION_CODES.get(entry.permission, 0),
            }
            found.setdefault(entry[:3], []).append(acl)
    return [
        {
            "resourceType": _RESOURCE_CODES.get(kind, 0),
            "resourceName": name,
            "patternType": _PATTERN_CODES.get(pattern, 0),
            "acls": acls,
        }
        for (kind, name, pattern), acls in found.items()
    ]


def _matches_resource(entry: AclEntry, wanted: DescribeAclsRequestData) -> bool:
    kind = RESOURCE_TYPES.get(wanted["resourceTypeFilter"])
    pattern = PATTERN_TYPES.get(wanted["patternTypeFilter"])
    name = wanted["resourceNameFilter"]
    if kind not in {_ANY, entry.resource_type}:
        return False
    if pattern not in {_ANY, _MATCH, entry.pattern_type}:
        return False
    if name is None:
        return True
    if pattern == _MATCH:
        if entry.pattern_type == "PREFIXED":
            return bool(name.startswith(entry.resource))
        return entry.resource in {name, _WILDCARD}
    return bool(name == entry.resource)


def _matches_entry(entry: AclEntry, wanted: DescribeAclsRequestData) -> bool:
    return (
        wanted["principalFilter"] in {None, entry.principal}
        and wanted["hostFilter"] in {None, entry.host}
        and OPERATIONS.get(wanted["operation"]) in {_ANY, entry.operation}
        and PERMISSIONS.get(wanted["permissionType"]) in {_ANY, entry.permission}
    )


def quota_entries(
    cluster: StoredCluster,
    components: Iterable[DescribeClientQuotasRequestComponentData],
    *,
    strict: bool,
) -> list[responses.DescribeClientQuotasResponseEntryData]:
    """Return the quotas that a DescribeClientQuotas request wants, by entity.

    Args:
        cluster: the state.
        components: those of the request.
        strict: whether an entity must have no other types than the components.
    """
    conditions = {each["entityType"]: each for each in components}
    found: dict[Any, list[responses.DescribeClientQuotasResponseValueData]] = {}
    for (entity, name), value in sorted(cluster.quotas.items(), key=lambda each: repr(each[0])):
        named = dict(entity)
        is_meant = conditions.keys() <= named.keys() and all(
            _matches_name(named[kind], each) for kind, each in conditions.items()
        )
        if is_meant and not (strict and len(named) > len(conditions)):
            found.setdefault(entity, []).append({"key": name, "value": value})
    return [
        {
            "entity": [{"entityType": kind, "entityName": name} for kind, name in entity],
            "values": values,
        }
        for entity, values in found.items()
    ]


def _matches_name(name: str | None, component: DescribeClientQuotasRequestComponentData) -> bool:
    how = component["matchType"]
    return bool(
        how == SPECIFIED or (name is None if how == DEFAULT else name == component["match"])
    )


def scram_credentials(
    cluster: StoredCluster,
) -> dict[str, list[DescribeUserScramCredentialsResponseCredentialInfo]]:
    """Return user → mechanisms and iterations, for a DescribeUserScramCredentials request."""
    found: dict[str, list[DescribeUserScramCredentialsResponseCredentialInfo]] = {}
    for (user, mechanism), iterations in sorted(cluster.scram_users.items()):
        found.setdefault(user, []).append(
            {"mechanism": _MECHANISM_CODES.get(mechanism, 0), "iterations": iterations}
        )
    return found
