// When a new job of each size would start, as the V-IPU controllers tell it. Pure.

import { bandOfTimes } from "./queue.js";

const STATES = ["Now", "Later", "Open", "Never"]; // the soonest first
const SIZES = 32; // of one controller; an operator tells of 17 at most

function rankOf({ state }) {
    const rank = STATES.indexOf(state);
    return rank < 0 ? STATES.length : rank;
}

function isSooner(a, b) {
    return (rankOf(a) - rankOf(b) || (a.band?.likely ?? 0) - (b.band?.likely ?? 0)) < 0;
}

/* Where a job of each size would start the soonest: [{from, to, state, controller, band, within}]. Sizes of which the same is told are
   one row, from so many IPUs to so many. Where `within` is set, a job with such a deadline would start now: {seconds, controller}. */
export function startsOf(controllers) {
    const sizes = new Map();
    for (const { metadata: { name: controller }, status } of controllers) {
        for (const { ipus, state, startsNowWithin: seconds = 0, ...times } of (status?.starts ?? []).slice(0, SIZES)) {
            const start = { state, controller, band: bandOfTimes(times) }, best = sizes.get(ipus);
            const within = seconds > (best?.within?.seconds ?? 0) ? { seconds, controller } : best?.within;
            sizes.set(ipus, { ...(best && !isSooner(start, best) ? best : start), within });
        }
    }
    const rows = [], key = ({ state, controller, band, within }) => JSON.stringify([state, controller, band, within]);
    for (const [ipus, start] of [...sizes].sort(([a], [b]) => a - b)) {
        if (start.state === STATES[0]) delete start.within;
        if (rows.length && key(rows.at(-1)) === key(start)) rows.at(-1).to = ipus;
        else rows.push({ from: ipus, to: ipus, ...start });
    }
    return rows;
}
