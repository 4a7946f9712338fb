// Who waits for IPUs, in which order, and when they may start. Pure.

import { instant } from "./text.js";

/* {from, likely, to}, in milliseconds; `to` is undefined if nobody knows the end. Null: nothing is known. */
export function bandOfTimes({ earliest, expected, latest }) {
    const from = instant(earliest), likely = instant(expected), to = instant(latest);
    return from === undefined && likely === undefined ? null : { from: from ?? likely, likely, to };
}

/* When it starts. */
export function bandOf(job) {
    return bandOfTimes(job.status?.forecast ?? {});
}

function isWaiting(job) {
    const status = job.status?.launcherStatus;
    return !job.metadata?.deletionTimestamp && (status === "Pending" || (Boolean(job.status?.queue) && ["Starting", "Running", "Restarting"].includes(status)));
}

/* Since when it waits, which orders jobs: not before it was last resumed. */
export function turnOf({ metadata, status }) {
    return status?.queuedSince ?? status?.queue?.since ?? metadata?.creationTimestamp;
}

/* [{controller, rows: [{key, job, position, band}]}], by controller and place; behind the places by turn. */
export function queuesOf(jobs) {
    const queues = new Map();
    for (const [key, job] of jobs) {
        if (!isWaiting(job)) continue;
        const controller = job.status.queue?.controller ?? "";
        if (!queues.has(controller)) queues.set(controller, []);
        queues.get(controller).push({ key, job, position: job.status.forecast?.position ?? job.status.queue?.position, band: bandOf(job) });
    }
    const turn = ({ job }) => turnOf(job) ?? "";
    for (const rows of queues.values()) rows.sort((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || (turn(a) < turn(b) ? -1 : 1));
    return [...queues].map(([controller, rows]) => ({ controller, rows })).sort((a, b) => (a.controller < b.controller ? -1 : 1));
}

/* What namespaces have used of the IPUs: {halfLife, namespaces: [{namespace, used, weight}]}, or null without shares. All controllers tell the same. */
export function sharesOf(controllers) {
    const told = [...controllers].find(({ status }) => Array.isArray(status?.shares?.namespaces))?.status.shares;
    return told ? { halfLife: told.halfLifeSeconds, namespaces: told.namespaces.map(({ namespace, usedPercent, weight }) => ({ namespace, used: usedPercent, weight })) } : null;
}

const STEPS_MIN = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 10080];
const TICKS = 5, LONGEST_MS = 28 * 86400e3;

/* The time axis that the bands of these rows share, from now on: {from, to, ticks}. */
export function axisOf(rows, now) {
    const ends = rows.flatMap(({ band }) => band ? [band.to ?? band.likely ?? band.from] : []);
    const span = Math.min(1.05 * Math.max(10 * 60e3, ...ends.map((end) => end - now)), LONGEST_MS);
    const step = (STEPS_MIN.find((minutes) => span / (minutes * 60e3) <= TICKS) ?? STEPS_MIN.at(-1)) * 60e3;
    const offset = new Date(now).getTimezoneOffset() * 60e3, ticks = []; // so that days begin at midnight
    for (let time = Math.ceil((now - offset) / step) * step + offset; time <= now + span; time += step) ticks.push(time);
    return { from: now, to: now + span, ticks };
}
