"""What NetworkPolicies admit, by Kubernetes' own rules: nothing enforces them on the local cluster. Policies and pods are the
objects that the API server has. Ingress alone, and no ipBlock: what else a policy has is rejected, not guessed."""


def admits(policies, source, target, port, protocol="TCP"):
    """Whether a connection from one pod to that port of another passes."""
    concerned = [policy for policy in policies if is_about(policy, target)]
    return not concerned or any(passes(rule, policy, source, target, port, protocol)
                                for policy in concerned for rule in policy["spec"].get("ingress", []))


def is_about(policy, pod):
    if policy["spec"].get("policyTypes") != ["Ingress"]:
        raise ValueError(f"policy types {policy['spec'].get('policyTypes')} are not judged here")
    return (policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
            and not pod["spec"].get("hostNetwork") and selects(policy["spec"]["podSelector"], pod["metadata"]))


def passes(rule, policy, source, target, port, protocol):
    """One row of `ingress`: no `from` means everybody, no `ports` every port."""
    peers, ports = rule.get("from", []), rule.get("ports", [])
    return ((not peers or any(is_peer(peer, policy, source) for peer in peers))
            and (not ports or any(is_port(wanted, target, port, protocol) for wanted in ports)))


def is_peer(peer, policy, pod):
    """A peer without a namespaceSelector is of the policy's own namespace. Addresses of nodes are in no podSelector."""
    if set(peer) != {"podSelector"}:
        raise ValueError(f"peer {peer} is not judged here")
    return (not pod["spec"].get("hostNetwork") and pod["metadata"]["namespace"] == policy["metadata"]["namespace"]
            and selects(peer["podSelector"], pod["metadata"]))


def is_port(wanted, target, port, protocol):
    if wanted.get("protocol", "TCP") != protocol:
        return False
    first = wanted.get("port")
    if isinstance(first, str):
        return any(named.get("name") == first and named["containerPort"] == port
                   for container in target["spec"]["containers"] for named in container.get("ports", []))
    return first is None or first <= port <= wanted.get("endPort", first)


def selects(selector, metadata):
    """An empty selector selects all."""
    labels = metadata.get("labels", {})
    return (all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
            and all(meets(row, labels) for row in selector.get("matchExpressions", [])))


def meets(row, labels):
    key, values = row["key"], row.get("values", [])
    return {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values,
            "Exists": key in labels, "DoesNotExist": key not in labels}[row["operator"]]
