"""Faults of a vipu-server at run time, as an admin switches them."""

import json
import urllib.error
import urllib.request

from programs import DEADLINE_S

HEAD = "admin-listen: 127.0.0.1:0\ncreate-ms: 0\nremove-ms: 0\nreset-ms: 0\nauto-reset-ms: 0\n"
QUICK = HEAD + "clusters: [{id: cl1}]\n"


def url(server):
    return f"http://127.0.0.1:{server.admin_port}/faults"


def put(server, faults, method="PUT", headers=()):
    """Faults as YAML text or as an object; returns the status and the answer."""
    body = faults if isinstance(faults, str) else json.dumps(faults)
    request = urllib.request.Request(url(server), body.encode(), dict(headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def set_faults(server, faults):
    status, text = put(server, faults)
    assert status == 200, text
    return json.loads(text)


def shown(server):
    with urllib.request.urlopen(url(server), timeout=DEADLINE_S) as answer:
        return json.load(answer)
