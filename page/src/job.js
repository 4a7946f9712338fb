// One job: its states over time, its ranks, what happened to it. Pure.

import { conditionOf } from "./map.js";
import { instant } from "./text.js";

/* The states that are known, [{state, from, to}]: conditions keep only their last change, so that a state between two failures may
   be missing. `seen` are the changes that the page has seen itself. The last one has no `to` while the job goes on. */
export function statesOf(job, seen) {
    const status = job.status ?? {}, marks = [...seen];
    const finished = instant(status.completionTime);
    const mark = (text, state) => instant(text) !== undefined && marks.push({ time: instant(text), state });
    mark(job.metadata?.creationTimestamp, "Pending");
    mark(status.startTime, "Starting");
    for (const { time } of status.failures ?? []) if (instant(time) !== finished) mark(time, "Restarting");
    for (const type of ["Running", "Suspended"]) {
        const condition = conditionOf(job, type);
        if (condition?.status === "True") mark(condition.lastTransitionTime, type);
    }
    if (job.metadata?.deletionTimestamp) mark(job.metadata.deletionTimestamp, "Terminating");
    if (finished !== undefined) mark(status.completionTime, status.launcherStatus);
    marks.sort((a, b) => a.time - b.time);
    const states = [];
    for (const { time, state } of marks) {
        const last = states.at(-1);
        if (last?.state === state || (finished !== undefined && time > finished && state !== "Terminating")) continue;
        if (last) last.to = time;
        states.push({ state, from: time });
    }
    const last = states.at(-1), now = status.launcherStatus;
    if (last && now && last.state !== now && finished === undefined) {
        last.to = Math.max(last.from, instant(status.lastReconcileTime) ?? last.from);
        states.push({ state: now, from: last.to });
    }
    if (finished !== undefined && states.length) states.at(-1).to = states.at(-1).from;
    return states.filter(({ from, to }, i) => i === states.length - 1 || to > from);
}

const LABEL = "graphcore.ai/";

/* "0.3": worker 3 of instance 0, as kubectl ipu logs writes it. */
function rankOf(labels) {
    return `${labels[LABEL + "instance"] ?? "0"}.${labels[LABEL + "role"] === "launcher" ? "launcher" : labels[LABEL + "worker"] ?? "?"}`;
}

/* What of a pod tells most: a container that waits or has ended, else its phase. */
function conditionOfPod(pod) {
    const status = pod.status ?? {};
    const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    const failed = containers.map(({ state }) => state?.terminated).find((end) => end && (end.exitCode || end.signal));
    const waiting = containers.map(({ state }) => state?.waiting).find((wait) => wait?.reason && wait.reason !== "PodInitializing");
    if (pod.metadata?.deletionTimestamp) return { state: "Terminating" };
    if (failed) return { state: failed.reason ?? "Error", cause: `exit code ${failed.exitCode}${failed.message ? `: ${failed.message}` : ""}`, bad: true };
    if (status.phase === "Failed") return { state: status.reason ?? "Failed", cause: status.message, bad: status.reason !== "DeadlineExceeded" };
    if (waiting) return { state: waiting.reason, cause: waiting.message, bad: /Err|BackOff|Invalid/.test(waiting.reason) };
    const unscheduled = status.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
    if (unscheduled) return { state: unscheduled.reason ?? "Unschedulable", cause: unscheduled.message, bad: true };
    return { state: status.phase ?? "Unknown" };
}

const inOrder = new Intl.Collator("en", { numeric: true }).compare;

/* [{rank, pod, node, since, state, cause, bad}] */
export function ranksOf(key, pods) {
    const [namespace, name] = key.split("/"), ranks = [];
    for (const pod of pods.values()) {
        const { labels = {}, namespace: of, name: podName } = pod.metadata ?? {};
        if (of !== namespace || labels[LABEL + "job-name"] !== name) continue;
        ranks.push({ rank: rankOf(labels), pod: podName, node: pod.spec?.nodeName, since: instant(pod.status?.startTime), ...conditionOfPod(pod) });
    }
    return ranks.sort((a, b) => inOrder(a.rank, b.rank) || inOrder(a.pod, b.pod));
}

function timeOfEvent(event) {
    return instant(event.series?.lastObservedTime) ?? instant(event.deprecatedLastTimestamp) ?? instant(event.eventTime) ?? instant(event.metadata?.creationTimestamp);
}

/* Of the job and its pods, the newest first: [{time, type, reason, about, note, count}]. */
export function eventsOf(key, pods, events) {
    const [namespace, name] = key.split("/");
    const about = new Set([`IPUJob ${name}`, ...ranksOf(key, pods).map(({ pod }) => `Pod ${pod}`)]);
    const found = [];
    for (const event of events.values()) {
        const { kind, name: of } = event.regarding ?? {};
        if (event.metadata?.namespace !== namespace || !about.has(`${kind} ${of}`)) continue;
        found.push({ time: timeOfEvent(event) ?? 0, type: event.type, reason: event.reason, about: kind === "Pod" ? of : "", note: event.note,
            count: event.series?.count ?? event.deprecatedCount ?? 1 });
    }
    return found.sort((a, b) => b.time - a.time);
}

/* [{name, points: [{time, value}]}]: the loss first, the progress last. */
export function seriesOf(points) {
    const series = new Map();
    for (const { time, values } of points) {
        for (const [name, value] of Object.entries(values)) {
            if (!series.has(name)) series.set(name, []);
            series.get(name).push({ time, value });
        }
    }
    const order = (name) => name.startsWith("progress, ") ? 2 : name.includes("loss") ? 0 : 1;
    return [...series].map(([name, of]) => ({ name, points: of })).sort((a, b) => order(a.name) - order(b.name));
}

/* Number of IPUs that the job asks for, over its instances; undefined if its spec does not tell. */
export function ipusOfJob(job) {
    const ipus = Number(job.spec?.ipusPerJobInstance);
    return Number.isInteger(ipus) ? ipus * (job.spec.jobInstances ?? 1) : undefined;
}

/* The jobs whose key or state has all the words. */
export function matching(jobs, words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean), found = [];
    for (const [key, job] of jobs) {
        const text = `${key} ${job.status?.launcherStatus ?? ""} ${job.status?.reason ?? ""}`.toLowerCase();
        if (wanted.every((word) => text.includes(word))) found.push({ key, job });
    }
    return found.sort((a, b) => inOrder(a.key, b.key));
}

export function routeOf(hash) {
    const [view, ...rest] = hash.replace(/^#\/?/, "").split("/");
    if (view === "jobs") return { view };
    if (view === "job" && rest.length === 2) {
        try {
            return { view, job: rest.map(decodeURIComponent).join("/") };
        } catch {
            return { view: "home" }; // a percent sign that begins no character
        }
    }
    return { view: "home" };
}

export function linkOf(key) {
    return "#/job/" + key.split("/").map(encodeURIComponent).join("/");
}
