"""What a ServiceAccount asked of an API server, as its audit log has it, beside what its roles allow."""

import json
from typing import NamedTuple


class Call(NamedTuple):
    namespace: str
    group: str
    resource: str  # with the subresource, as rules have it
    verb: str
    name: str

    def __str__(self):
        return f"{self.verb} {'/'.join(filter(None, [self.group, self.resource]))} in {self.namespace or 'no namespace'}"


class Right(NamedTuple):
    namespace: str  # empty: everywhere
    group: str
    resource: str
    verb: str
    name: str  # empty: every object

    def allows(self, call):
        return ((self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
                and self.namespace in ("", call.namespace) and self.name in ("", call.name))


class Audit:
    """The requests of one user, whatever became of them."""

    def __init__(self, user, *logs):
        self.calls, self.forbidden, self.elsewhere = set(), set(), set()
        for log in logs:
            self._read(user, log)

    def _read(self, user, log):
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                if not line.endswith("\n"):
                    break  # it is being written
                event = json.loads(line)
                if event["user"]["username"] == user:
                    self._add(event)

    def _add(self, event):
        what = event.get("objectRef")
        if not what or "resource" not in what:
            self.elsewhere.add(event["requestURI"].partition("?")[0])
            return
        resource = "/".join(filter(None, [what["resource"], what.get("subresource")]))
        call = Call(what.get("namespace", ""), what.get("apiGroup", ""), resource, event["verb"], what.get("name", ""))
        is_allowed = event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
        (self.calls if is_allowed else self.forbidden).add(call)


def rights(objects, account):
    """Every single thing that the rendered roles allow the ServiceAccount of this name."""
    roles = {(thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]): thing["rules"]
             for thing in objects if thing["kind"] in ("Role", "ClusterRole")}
    found = set()
    for binding in objects:
        if account in [subject["name"] for subject in binding.get("subjects", ())]:
            role, where = binding["roleRef"], binding["metadata"].get("namespace", "")
            rules = roles[role["kind"], where if role["kind"] == "Role" else "", role["name"]]
            found |= {Right(where, group, resource, verb, name) for rule in rules for group in rule["apiGroups"]
                      for resource in rule["resources"] for verb in rule["verbs"]
                      for name in rule.get("resourceNames", [""])}
    return found


def not_allowed(calls, allowed):
    return {call for call in calls if not any(right.allows(call) for right in allowed)}


def unused(calls, allowed):
    """The rights that no call needs. What a namespace's own role allows needs no other."""
    used = set()
    for call in calls:
        fitting = [right for right in allowed if right.allows(call)]
        local = [right for right in fitting if right.namespace]
        used.update(local or fitting)
    return allowed - used
