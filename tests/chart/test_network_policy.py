"""The judge of NetworkPolicies (tests/lib/network_policy.py), held against the rules of Kubernetes' documentation."""

import pytest
from network_policy import admits


def pod(labels, namespace="team", ports=(), **spec):
    return {"metadata": {"namespace": namespace, "labels": labels},
            "spec": {"containers": [{"ports": [{"name": name, "containerPort": port} for name, port in ports]}]} | spec}


def policy(*rules, selector=None, namespace="team", types=("Ingress",)):
    return {"metadata": {"namespace": namespace},
            "spec": {"podSelector": selector or {}, "policyTypes": list(types), "ingress": list(rules)}}


A, B = pod({"app": "a"}, ports=[("web", 80)]), pod({"app": "b"})
FROM_B = {"from": [{"podSelector": {"matchLabels": {"app": "b"}}}]}
NOT_FROM_B = {"from": [{"podSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}}]}
ROWS = [
    ("no policy admits all", [], B, A, 80, True),
    ("a policy without rules admits no pod", [policy()], B, A, 80, False),
    ("a rule without peers and ports admits all", [policy({})], B, A, 80, True),
    ("the peer", [policy(FROM_B)], B, A, 80, True),
    ("no peer", [policy(FROM_B)], A, A, 80, False),
    ("a policy of other pods", [policy(selector={"matchLabels": {"app": "b"}})], B, A, 80, True),
    ("a policy of another namespace", [policy(namespace="other")], B, A, 80, True),
    ("a peer of another namespace", [policy(FROM_B)], pod({"app": "b"}, namespace="other"), A, 80, False),
    ("two policies add up", [policy(), policy(FROM_B)], B, A, 80, True),
    ("another port", [policy({"ports": [{"port": 81}]})], B, A, 80, False),
    ("a range of ports", [policy({"ports": [{"port": 79, "endPort": 81}]})], B, A, 80, True),
    ("another protocol", [policy({"ports": [{"port": 80, "protocol": "UDP"}]})], B, A, 80, False),
    ("a port by name", [policy({"ports": [{"port": "web"}]})], B, A, 80, True),
    ("another name", [policy({"ports": [{"port": "ssh"}]})], B, A, 80, False),
    ("peer and port both", [policy(FROM_B | {"ports": [{"port": 81}]})], B, A, 80, False),
    ("an expression", [policy(NOT_FROM_B)], B, A, 80, False),
    ("to the node's network", [policy()], B, pod({"app": "a"}, hostNetwork=True), 80, True),
    ("from the node's network", [policy(FROM_B)], pod({"app": "b"}, hostNetwork=True), A, 80, False),
]


@pytest.mark.parametrize(("policies", "source", "target", "port", "wanted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_rules(policies, source, target, port, wanted):
    assert admits(policies, source, target, port) is wanted


@pytest.mark.parametrize("unknown", [policy({"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}), policy(types=("Egress",))],
                         ids=["addresses", "ways out"])
def test_what_is_not_judged_is_rejected(unknown):
    with pytest.raises(ValueError):
        admits([unknown], B, A, 80)
