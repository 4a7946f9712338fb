// What the page knows: the objects of the cluster as the feed tells them, and what it has seen of them since it was opened.
// A change is a function of the message and the time.

import { instant } from "./text.js";

const KINDS = ["job", "controller", "pod", "event"];
// So that a browser stays usable whatever the cluster has. The oldest ones go first.
export const LIMITS = { job: 20000, controller: 1000, pod: 20000, event: 5000 };
export const LOG_LINES = 5000;
const LINE_CHARACTERS = 10000;
const POINTS = 600, METRICS = 12, JOBS_WITH_POINTS = 500, CHANGES = 100;

export function newStore() {
    return {
        objects: Object.fromEntries(KINDS.map((kind) => [kind, new Map()])),
        forbidden: {}, // kind -> message
        evicted: new Set(), // kinds of which there are more than LIMITS
        outdated: null, // kind -> keys that were there before the connection broke and have not come again
        isSynced: false,
        hello: {},
        api: { connected: true, message: "" },
        points: new Map(), // job -> [{time, values: {name: number}}]
        changes: new Map(), // job -> [{time, state}]
        log: null,
    };
}

function newLog(job) {
    return { job, lines: [], count: 0, dropped: 0, ranks: new Set() };
}

/* The log of which job is shown, null: of none. */
export function openLog(store, job) {
    store.log = job && newLog(job);
}

function noteChange(store, key, before, job, now) {
    const state = job.status?.launcherStatus;
    if (!before || !state || before.status?.launcherStatus === state) return;
    const changes = store.changes.get(key) ?? [];
    changes.push({ time: instant(job.status.lastReconcileTime) ?? now, state });
    store.changes.set(key, changes.slice(-CHANGES));
}

function notePoint(store, key, job) {
    const trainer = job.status?.trainerStatus ?? {};
    const percentage = job.status?.progress?.percentage ?? trainer.progressPercentage;
    const time = instant(job.status?.progress?.lastReportTime ?? trainer.lastUpdatedTime);
    const values = {};
    if (Number.isFinite(percentage)) values["progress, %"] = percentage;
    for (const { name, value } of trainer.metrics ?? []) {
        const number = value === "" ? NaN : Number(value);
        if (Number.isFinite(number) && Object.keys(values).length < METRICS) values[String(name)] = number;
    }
    let points = store.points.get(key) ?? [];
    if (time === undefined || !Object.keys(values).length || points.at(-1)?.time >= time) return;
    if (points.length >= POINTS) points = points.filter((_, i) => i % 2 === 0); // half as fine, but from the begin on
    points.push({ time, values });
    store.points.delete(key); // a Map has its keys in the order of insertion: those that report stay
    store.points.set(key, points);
    if (store.points.size > JOBS_WITH_POINTS) store.points.delete(store.points.keys().next().value);
}

function put(store, { kind, key, object }, now) {
    const objects = store.objects[kind];
    if (kind === "job") {
        noteChange(store, key, objects.get(key), object, now);
        notePoint(store, key, object);
    }
    objects.set(key, object);
    store.outdated?.[kind].delete(key);
    if (objects.size > LIMITS[kind]) {
        store.evicted.add(kind);
        remove(store, kind, objects.keys().next().value);
    }
}

function remove(store, kind, key) {
    store.objects[kind].delete(key);
    if (kind !== "job") return;
    store.points.delete(key);
    store.changes.delete(key);
}

function addLines(log, { rank, attempt, lines }) {
    log.ranks.add(rank);
    for (const text of lines) {
        log.lines.push({ number: ++log.count, rank, attempt, text: String(text).slice(0, LINE_CHARACTERS), cut: Math.max(0, String(text).length - LINE_CHARACTERS) });
    }
    if (log.lines.length > LOG_LINES * 1.2) log.lines = log.lines.slice(-LOG_LINES); // not at every line
}

const HANDLERS = {
    hello(store, message) {
        store.hello = message;
        store.isSynced = false;
        store.forbidden = {};
        store.evicted = new Set();
        store.outdated = Object.fromEntries(KINDS.map((kind) => [kind, new Set(store.objects[kind].keys())]));
        openLog(store, store.log?.job ?? null);
    },
    synced(store) {
        for (const kind of KINDS) for (const key of store.outdated?.[kind] ?? []) remove(store, kind, key);
        store.outdated = null;
        store.isSynced = true;
    },
    state(store, { kind, forbidden, message, connected }) {
        if (forbidden) store.forbidden[kind] = message ?? "";
        else if (kind === undefined) store.api = { connected: connected !== false, message: message ?? "" };
    },
    put(store, message, now) {
        if (KINDS.includes(message.kind)) put(store, message, now);
    },
    delete(store, { kind, key }) {
        if (KINDS.includes(kind)) remove(store, kind, key);
    },
    log(store, message) {
        if (store.log?.job === message.job) addLines(store.log, message);
    },
    "log-dropped"(store, { lines }) {
        if (store.log) store.log.dropped += lines;
    },
};

/* Messages of types that a later version adds change nothing. */
export function receive(store, message, now) {
    if (Object.hasOwn(HANDLERS, message?.type)) HANDLERS[message.type](store, message, now);
}
