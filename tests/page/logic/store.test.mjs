import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff } from "../../../page/src/feed.js";
import { LIMITS, LOG_LINES, newStore, openLog, receive } from "../../../page/src/store.js";

const NOW = 1_000_000;
const job = (state, status = {}) => ({ metadata: { namespace: "ml", name: "a" }, status: { launcherStatus: state, ...status } });
const put = (store, object, key = "ml/a", kind = "job") => receive(store, { type: "put", kind, key, object }, NOW);
const at = (s) => new Date(s * 1000).toISOString();

test("objects that do not come again after a break are removed when all have come, not before", () => {
    const store = newStore();
    put(store, job("Running"));
    put(store, job("Running"), "ml/b");
    receive(store, { type: "hello" }, NOW);
    assert.equal(store.objects.job.size, 2);
    put(store, job("Failed"));
    receive(store, { type: "synced" }, NOW);
    assert.deepEqual([...store.objects.job.keys()], ["ml/a"]);
    assert.equal(store.isSynced, true);
});

test("changes of state are noted with the operator's time", () => {
    const store = newStore();
    put(store, job("Pending"));
    put(store, job("Starting", { lastReconcileTime: at(5) }));
    put(store, job("Starting", { lastReconcileTime: at(6) }));
    put(store, job("Running"));
    assert.deepEqual(store.changes.get("ml/a"), [{ time: 5000, state: "Starting" }, { time: NOW, state: "Running" }]);
    receive(store, { type: "delete", kind: "job", key: "ml/a" }, NOW);
    assert.equal(store.changes.size, 0);
});

test("a report is a point once, and what is no number is none", () => {
    const store = newStore();
    const report = (s, value) => job("Running", { progress: { percentage: 4, lastReportTime: at(s) }, trainerStatus: { metrics: [{ name: "loss", value }, { name: "note", value: "NaN" }, { name: "empty", value: "" }] } });
    put(store, report(10, "0.5"));
    put(store, report(10, "0.5"));
    put(store, report(9, "0.6"));
    put(store, report(11, "1e-2"));
    assert.deepEqual(store.points.get("ml/a"), [{ time: 10000, values: { "progress, %": 4, loss: 0.5 } }, { time: 11000, values: { "progress, %": 4, loss: 0.01 } }]);
});

test("points are bounded, and keep the first and the last", () => {
    const store = newStore();
    for (let i = 0; i < 5000; i++) put(store, job("Running", { progress: { percentage: 1, lastReportTime: at(i) } }));
    const points = store.points.get("ml/a");
    assert.ok(points.length <= 600 && points.length >= 300, points.length);
    assert.equal(points[0].time, 0);
    assert.equal(points.at(-1).time, 4999000);
    for (let i = 0; i < 600; i++) put(store, job("Running", { progress: { percentage: 1, lastReportTime: at(1) } }), `ml/${i}`);
    assert.ok(store.points.size <= 500);
});

test("objects are bounded, the oldest go first, and the page knows", () => {
    const store = newStore();
    for (let i = 0; i <= LIMITS.event; i++) put(store, { metadata: {} }, `ml/${i}`, "event");
    assert.equal(store.objects.event.size, LIMITS.event);
    assert.equal(store.objects.event.has("ml/0"), false);
    assert.deepEqual([...store.evicted], ["event"]);
});

test("the log is bounded, and of one job", () => {
    const store = newStore();
    const log = (of, lines) => receive(store, { type: "log", job: of, rank: "0.1", attempt: 0, lines }, NOW);
    log("ml/a", ["nobody looks"]);
    openLog(store, "ml/a");
    log("ml/b", ["another job"]);
    for (let i = 0; i < 100; i++) log("ml/a", Array(100).fill(`line ${i}`));
    log("ml/a", ["x".repeat(20000)]);
    receive(store, { type: "log-dropped", lines: 7 }, NOW);
    assert.ok(store.log.lines.length <= LOG_LINES * 1.2, store.log.lines.length);
    assert.equal(store.log.lines.at(-1).number, 10001);
    assert.equal(store.log.lines.at(-1).text.length + store.log.lines.at(-1).cut, 20000);
    assert.equal(store.log.dropped, 7);
    receive(store, { type: "hello" }, NOW);
    assert.deepEqual([store.log.job, store.log.lines.length], ["ml/a", 0]);
});

test("states of the connection, and kinds that may not be listed", () => {
    const store = newStore();
    receive(store, { type: "state", connected: false, message: "no route" }, NOW);
    receive(store, { type: "state", kind: "controller", forbidden: true, message: "no right" }, NOW);
    assert.deepEqual([store.api, store.forbidden], [{ connected: false, message: "no route" }, { controller: "no right" }]);
});

test("messages of other types change nothing", () => {
    const store = newStore(), before = structuredClone(store);
    for (const message of [null, 5, {}, { type: "constructor" }, { type: "later" }, { type: "put", kind: "secret", key: "a", object: {} }, { type: "delete", kind: "__proto__", key: "a" }]) receive(store, message, NOW);
    assert.deepEqual(store, before);
});

test("tries are further and further apart, and differ by chance", () => {
    assert.deepEqual([backoff(0, 0), backoff(0, 1), backoff(3, 1), backoff(50, 1)], [250, 500, 4000, 15000]);
});
