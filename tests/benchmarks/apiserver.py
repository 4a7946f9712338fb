"""What the API server says it has answered, by verb and resource."""
import re
from collections import Counter

LINE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')
# Connections that stay open, and what ticks by itself.
NOT_COUNTED = {"WATCH", "WATCHLIST", "CONNECT"}
CLOCKS = {"leases"}


def requests(metrics: str) -> Counter:
    """("PATCH", "ipujobs/status") -> how many were answered since the API server began."""
    counted = Counter()
    for line in metrics.splitlines():
        if not (match := LINE.match(line)):
            continue
        labels = dict(LABEL.findall(match["labels"]))
        if labels["verb"] in NOT_COUNTED or labels["resource"] in CLOCKS or not labels["resource"]:
            continue
        name = "/".join(filter(None, (labels["resource"], labels["subresource"])))
        counted[labels["verb"], name] += int(float(match["count"]))
    return counted
