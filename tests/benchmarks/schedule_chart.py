"""Draws what tests/bench schedule has measured: waits and utilisation by load, a row of two charts per machine and workload."""
import html
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 420, 230, 70, 60, 90
COLOURS = {"strict": "#888888", "bounded": "#1f6feb", "predicted": "#d1610a", "easy": "#2da44e"}
STYLE = "text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold}.axis{stroke:#24292f}.grid{stroke:#d0d7de}"


class Panel:
    """A chart whose lower left corner is the origin of its values."""

    def __init__(self, x, y, title, loads, values, is_log):
        self.x, self.y, self.title, self.is_log = x, y, title, is_log
        self.loads = sorted(set(loads))
        if is_log:
            self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values) * 1.01))
            self.ticks = [(10 ** power, f"{10 ** power:g}") for power in range(self.low, self.high + 1)]
        else:
            self.low, self.high = 0, 100
            self.ticks = [(percent, f"{percent}") for percent in range(0, 101, 20)]

    def across(self, load):
        spread = self.loads[-1] - self.loads[0]
        return self.x + WIDTH * (0.5 if not spread else 0.05 + 0.9 * (load - self.loads[0]) / spread)

    def up(self, value):
        place = math.log10(value) if self.is_log else value
        return self.y + HEIGHT * (1 - (place - self.low) / (self.high - self.low))

    def frame(self):
        yield f'<text class="title" x="{self.x}" y="{self.y - 8}">{html.escape(self.title)}</text>'
        for value, label in self.ticks:
            y = self.up(value)
            yield f'<line class="grid" x1="{self.x}" x2="{self.x + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{self.x - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        yield f'<polyline class="axis" fill="none" points="{self.x},{self.y} {self.x},{self.y + HEIGHT} {self.x + WIDTH},{self.y + HEIGHT}"/>'
        for load in self.loads:
            yield f'<text x="{self.across(load):.1f}" y="{self.y + HEIGHT + 18}" text-anchor="middle">{load:.2f}</text>'
        yield f'<text x="{self.x + WIDTH / 2}" y="{self.y + HEIGHT + 36}" text-anchor="middle">load</text>'

    def line(self, policy, values):
        places = [(self.across(load), self.up(value)) for load, value in sorted(values)]
        yield (f'<polyline fill="none" stroke="{COLOURS[policy]}" stroke-width="2" points="'
               + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>')
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[policy]}"/>' for x, y in places)


def panels(rows, y):
    """Both charts of one workload on one machine."""
    name = f"{rows[0][0][0]}, {rows[0][1]['domains']:.0f} domains"
    # A mean wait of less than a second is drawn as one.
    measures = (("mean wait, minutes", True, lambda row: max(1, row["wait_s"]) / 60),
                ("IPUs used, %", False, lambda row: 100 * row["utilisation"]))
    for index, (title, is_log, value) in enumerate(measures):
        panel = Panel(LEFT + index * (WIDTH + GAP), y, f"{name}: {title}", [row["load"] for _, row in rows],
                      [value(row) for _, row in rows], is_log)
        yield from panel.frame()
        for policy in COLOURS:
            values = [(row["load"], value(row)) for _, row in rows if row["policy"] == policy]
            if values:
                yield from panel.line(policy, values)


def chart(found):
    """SVG of (name, row) pairs; rows whose names differ only in the load share a chart."""
    groups = {}
    for name, row in found:
        groups.setdefault((name[0], row["domains"]), []).append((name, row))
    height = TOP + len(groups) * (HEIGHT + GAP)
    width = LEFT + 2 * (WIDTH + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
             f'<style>{STYLE}</style><rect width="100%" height="100%" fill="white"/>']
    shown = [policy for policy in COLOURS if any(row["policy"] == policy for _, row in found)]
    for index, policy in enumerate(shown):
        parts.append(f'<circle cx="{LEFT + index * 110}" cy="18" r="5" fill="{COLOURS[policy]}"/>'
                     f'<text x="{LEFT + 10 + index * 110}" y="22">{policy}</text>')
    for index, rows in enumerate(groups.values()):
        parts += panels(rows, TOP + index * (HEIGHT + GAP))
    return "\n".join([*parts, "</svg>"]) + "\n"
