// A line over time, as numbers too.

import { clock, figure } from "./text.js";

const WIDTH = 320, HEIGHT = 96, PAD = 4;

export function Chart({ name, points, now }) {
    const values = points.map(({ value }) => value), low = Math.min(...values), high = Math.max(...values);
    const from = points[0].time, to = points.at(-1).time;
    const x = (time) => PAD + (to > from ? (time - from) / (to - from) : 1) * (WIDTH - 2 * PAD);
    const y = (value) => HEIGHT - PAD - (high > low ? (value - low) / (high - low) : 0.5) * (HEIGHT - 2 * PAD);
    const path = points.map(({ time, value }, i) => `${i ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const last = points.at(-1), said = `latest ${figure(last.value)}, lowest ${figure(low)}, highest ${figure(high)}`;
    return (
        <figure class="chart">
            <figcaption><b><bdi>{name}</bdi></b> {said}</figcaption>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${name} from ${clock(from, now)} to ${clock(to, now)}: ${said}`}>
                <rect class="ground" width={WIDTH} height={HEIGHT} />
                <path class="line" d={path} />
                <circle cx={x(last.time)} cy={y(last.value)} r="3" class="last" />
            </svg>
            <div class="axis" aria-hidden="true"><span>{clock(from, now)}</span><span>{clock(to, now)}</span></div>
        </figure>
    );
}
