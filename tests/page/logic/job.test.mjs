import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, ipusOfJob, linkOf, matching, ranksOf, routeOf, seriesOf, statesOf } from "../../../page/src/job.js";
import { axisOf, bandOf, queuesOf } from "../../../page/src/queue.js";

const at = (s) => new Date(s * 1000).toISOString();
const job = (status, metadata = {}) => ({ metadata: { creationTimestamp: at(0), ...metadata }, status });
const said = (states) => states.map(({ state, from, to }) => `${state} ${from / 1000}-${to === undefined ? "" : to / 1000}`).join(", ");
const running = (s) => [{ type: "Running", status: "True", lastTransitionTime: at(s) }];

test("states over time", () => {
    const cases = [
        ["Pending 0-", { launcherStatus: "Pending" }, []],
        ["Pending 0-5, Starting 5-8, Running 8-", { launcherStatus: "Running", startTime: at(5), conditions: running(8) }, []],
        // The condition has only the last time that it ran.
        ["Pending 0-5, Starting 5-20, Restarting 20-40, Running 40-", { launcherStatus: "Running", startTime: at(5), conditions: running(40), failures: [{ time: at(20) }] }, []],
        ["Pending 0-5, Starting 5-8, Running 8-20, Restarting 20-40, Running 40-", { launcherStatus: "Running", startTime: at(5), conditions: running(40), failures: [{ time: at(20) }] },
            [{ time: 8000, state: "Running" }]],
        ["Pending 0-5, Starting 5-30, Failed 30-30", { launcherStatus: "Failed", startTime: at(5), completionTime: at(30), failures: [{ time: at(30) }] }, []],
        ["Pending 0-30, Completed 30-30", { launcherStatus: "Completed", completionTime: at(30), lastReconcileTime: at(60) }, [{ time: 60000, state: "Completed" }]],
        // What no condition tells is as old as the last change of the status.
        ["Pending 0-9, Starting 9-", { launcherStatus: "Starting", lastReconcileTime: at(9) }, []],
    ];
    for (const [text, status, seen] of cases) assert.equal(said(statesOf(job(status), seen)), text);
    assert.equal(said(statesOf(job({ launcherStatus: "Terminating" }, { deletionTimestamp: at(7) }), [])), "Pending 0-7, Terminating 7-");
    assert.deepEqual(statesOf({}, []), []);
});

const pod = (name, labels, status, spec = { nodeName: "n1" }, metadata = {}) => [`ml/${name}`, { metadata: { namespace: "ml", name, labels: { "graphcore.ai/job-name": "a", ...labels }, ...metadata }, spec, status }];
const worker = (number, instance = 0) => ({ "graphcore.ai/instance": String(instance), "graphcore.ai/worker": String(number), "graphcore.ai/role": "worker" });

test("ranks in their order, with what tells most", () => {
    const pods = new Map([
        pod("a-worker-10", worker(10), { phase: "Running" }),
        pod("a-worker-2", worker(2), { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "OOMKilled" } } }] }),
        pod("a-launcher", { "graphcore.ai/role": "launcher" }, { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }] }),
        pod("a-worker-0", worker(0), { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" }] }),
        pod("a-worker-1", worker(1), { phase: "Failed", reason: "DeadlineExceeded" }),
        pod("a-worker-3", worker(3), { phase: "Running" }, undefined, { deletionTimestamp: at(1) }),
        ["cv/a-worker-0", { metadata: { namespace: "cv", name: "a-worker-0", labels: { "graphcore.ai/job-name": "a" } } }],
        ["ml/other", { metadata: { namespace: "ml", name: "other" } }],
    ]);
    assert.deepEqual(ranksOf("ml/a", pods).map(({ rank, state, cause, bad }) => [rank, state, cause, Boolean(bad)]), [
        ["0.0", "Unschedulable", "0/3 nodes", true],
        ["0.1", "DeadlineExceeded", undefined, false], // stopped by the operator
        ["0.2", "OOMKilled", "exit code 137", true],
        ["0.3", "Terminating", undefined, false],
        ["0.10", "Running", undefined, false],
        ["0.launcher", "ImagePullBackOff", "no such image", true],
    ]);
});

test("events of the job and of its pods, the newest first", () => {
    const pods = new Map([pod("a-worker-0", worker(0), {})]);
    const event = (name, kind, of, time, namespace = "ml") => [name, { metadata: { namespace, name }, regarding: { kind, name: of }, reason: name, eventTime: at(time) }];
    const events = new Map([event("e1", "IPUJob", "a", 1), event("e2", "Pod", "a-worker-0", 3), event("e3", "IPUJob", "b", 2), event("e4", "IPUJob", "a", 2, "cv"), event("e5", "Pod", "a", 9)]);
    assert.deepEqual(eventsOf("ml/a", pods, events).map(({ reason, about }) => [reason, about]), [["e2", "a-worker-0"], ["e1", ""]]);
});

test("curves: the loss first, the progress last", () => {
    const series = seriesOf([{ time: 1, values: { "progress, %": 1, epoch: 0, loss: 2 } }, { time: 2, values: { "progress, %": 2, loss: 1 } }]);
    assert.deepEqual(series.map(({ name, points }) => [name, points.length]), [["loss", 2], ["epoch", 1], ["progress, %", 2]]);
});

test("the queue is in the order of places, then of age", () => {
    const waits = (position, s, status = {}) => ({ metadata: { creationTimestamp: at(s) }, status: { launcherStatus: "Pending", queue: { controller: "p", position }, ...status } });
    const jobs = new Map([["a", waits(2, 1)], ["b", waits(1, 2)], ["c", waits(undefined, 9)], ["d", waits(undefined, 3)], ["e", waits(5, 1, { launcherStatus: "Completed" })],
        ["f", { metadata: { deletionTimestamp: at(1) }, status: { launcherStatus: "Pending" } }], ["g", { status: { launcherStatus: "Pending" } }], ["h", {}],
        ["i", waits(3, 1, { launcherStatus: "Running" })]]);
    assert.deepEqual(queuesOf(jobs).map(({ controller, rows }) => [controller, rows.map(({ key }) => key).join("")]), [["", "g"], ["p", "baidc"]]);
});

test("bands, and the axis that holds them all", () => {
    const band = (forecast) => bandOf({ status: { forecast } });
    assert.equal(band(undefined), null);
    assert.equal(band({ asOf: at(1) }), null);
    assert.deepEqual(band({ earliest: at(1), expected: at(2), latest: at(3) }), { from: 1000, likely: 2000, to: 3000 });
    assert.deepEqual(band({ expected: at(2) }), { from: 2000, likely: 2000, to: undefined });
    for (const hours of [0, 1, 5, 30, 24 * 20, 24 * 365]) {
        const axis = axisOf([{ band: { from: 0, to: hours * 3600e3 } }, { band: null }], 0);
        assert.ok(axis.to >= Math.min(hours, 24 * 28) * 3600e3 && axis.to <= 24 * 28 * 3600e3 * 1.05, `${hours} h: ${axis.to}`);
        assert.ok(axis.ticks.length <= 6 && axis.ticks.every((time) => time >= 0 && time <= axis.to), axis.ticks.join());
    }
});

test("finding jobs", () => {
    const jobs = new Map([["ml/a-10", { status: { launcherStatus: "Running" } }], ["ml/a-9", { status: { launcherStatus: "Failed", reason: "OOMKilled" } }], ["cv/b", {}]]);
    const found = (words) => matching(jobs, words).map(({ key }) => key).join();
    assert.equal(found(""), "cv/b,ml/a-9,ml/a-10");
    assert.equal(found(" ML  oom"), "ml/a-9");
    assert.equal(found(".*"), "");
    assert.equal(ipusOfJob({ spec: { ipusPerJobInstance: "4", jobInstances: 3 } }), 12);
    assert.equal(ipusOfJob({ spec: {} }), undefined);
});

test("addresses within the page", () => {
    assert.deepEqual(routeOf(linkOf("ml/a b%")), { view: "job", job: "ml/a b%" });
    assert.deepEqual(["", "#/", "#/nothing", "#/job/ml", "#/job/ml/%E0%A4%A"].map((hash) => routeOf(hash).view), Array(5).fill("home"));
    assert.deepEqual(routeOf("#/jobs"), { view: "jobs" });
});
