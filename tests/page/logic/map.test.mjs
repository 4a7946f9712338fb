import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf, ipusOf, lastSignOf, letterOf, mapOf, numbered, rangesOf, totals } from "../../../page/src/map.js";

test("no operator runs when the times of controllers that answer stand still", () => {
    const now = Date.parse("2026-11-26T18:00:00Z");
    const controller = (lastAnswerTime, status = "True") => ({ status: { lastAnswerTime, conditions: [{ type: "Reachable", status }] } });
    const old = controller("2026-11-26T17:46:00Z"), fresh = controller("2026-11-26T17:58:00Z");
    assert.equal(lastSignOf([old], now), Date.parse("2026-11-26T17:46:00Z"));
    for (const controllers of [[], [fresh], [old, fresh], [controller("2026-11-26T17:46:00Z", "False")], [controller(undefined)], [{}]]) {
        assert.equal(lastSignOf(controllers, now), undefined);
    }
});

test("masks are read as the status writes them, and what is no mask is empty", () => {
    assert.deepEqual(ipusOf("0000000000000005"), [0, 2]);
    assert.deepEqual(ipusOf("8000000000000000"), [63]);
    assert.deepEqual(ipusOf("ff", 4), [0, 1, 2, 3]);
    for (const mask of [undefined, "", "0x5", "xyz", 5, "f".repeat(65)]) assert.deepEqual(ipusOf(mask), []);
});

test("ranges", () => {
    assert.equal(rangesOf([]), "");
    assert.equal(rangesOf([0, 1, 2, 5, 8, 9]), "0-2, 5, 8-9");
});

test("equal rows are one block", () => {
    const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
    assert.deepEqual(blocksOf(range(0, 64), 16), [{ x: 0, y: 0, w: 16, h: 4 }]);
    assert.deepEqual(blocksOf(range(8, 24), 16), [{ x: 8, y: 0, w: 8, h: 1 }, { x: 0, y: 1, w: 8, h: 1 }]);
    assert.deepEqual(blocksOf([0, 1, 3], 2), [{ x: 0, y: 0, w: 2, h: 1 }, { x: 1, y: 1, w: 1, h: 1 }]);
});

test("letters", () => {
    assert.deepEqual([0, 25, 26, 701, 702].map(letterOf), ["A", "Z", "AA", "ZZ", "AAA"]);
});

test("a holder keeps its letter while it is there", () => {
    const numbers = numbered(new Map(), ["a", "b", "b"]);
    assert.deepEqual([...numbers], [["a", 0], ["b", 1]]);
    numbered(numbers, ["b", "c", "d"]);
    assert.deepEqual(Object.fromEntries(numbers), { b: 1, c: 0, d: 2 });
});

const status = {
    address: "pod:8090",
    domains: [{ name: "ild0", size: 16, free: "ff00" }, { name: "ild1", size: 16, free: "0000", cordoned: true }],
    partitions: [
        { size: 4, state: "ACTIVE", ours: true, job: "ml/a", namespace: "ml", places: [{ domain: "ild0", ipus: "000f" }] },
        { size: 4, state: "ERROR", ours: true, namespace: "cv", places: [{ domain: "ild0", ipus: "00f0" }] },
        { size: 16, state: "ACTIVE", ours: false, places: [{ domain: "ild1", ipus: "ffff" }] },
    ],
};

test("domains have the blocks of their partitions, holders where they are", () => {
    const map = mapOf({ metadata: { name: "pod" }, status }, new Map());
    assert.deepEqual(map.domains.map(({ name, columns, rows, free, cordoned, blocks }) => [name, columns, rows, free.length, cordoned, blocks.map(({ key, w, failed }) => [key, w, failed])]), [
        ["ild0", 16, 1, 8, false, [["job ml/a", 4, false], ["namespace cv", 4, true]]],
        ["ild1", 16, 1, 0, true, [["others", 16, false]]],
    ]);
    assert.deepEqual(map.holders.map(({ label, ipus, failed, where }) => [label, ipus, failed, where.join()]), [
        ["not of IPUJobs", 16, 0, "ild1: 0-15"], ["jobs of namespace cv", 4, 1, "ild0: 4-7"], ["ml/a", 4, 0, "ild0: 0-3"],
    ]);
});

test("a cordon without domains is of the whole controller", () => {
    const map = (cordon) => mapOf({ metadata: { name: "pod" }, status: { ...status, cordon } }, new Map()).domains.map(({ cordoned }) => cordoned);
    assert.deepEqual(map({ state: "Draining" }), [true, true]);
    assert.deepEqual(map({ message: "there is no domain ild9" }), [false, true]);
});

test("the block that the queue reserves is at its controller only", () => {
    const waits = (controller) => new Map([["ml/b", { status: { queue: { controller }, forecast: { reservedBlock: { places: [{ domain: "ild0", ipus: "0f00" }] } } } }]]);
    const reserved = (jobs) => mapOf({ metadata: { name: "pod" }, status }, jobs).domains[0].reserved;
    assert.deepEqual(reserved(waits("pod:8090")), [{ x: 8, y: 0, w: 4, h: 1, job: "ml/b" }]);
    assert.deepEqual(reserved(waits("other:8090")), []);
});

test("a controller without a status has an empty map, and one that is down does not count", () => {
    assert.deepEqual(mapOf({ metadata: { name: "pod" } }, new Map()), { domains: [], holders: [] });
    const ipus = { total: 64, free: 32, largestFree: 16 };
    const down = { status: { ipus, conditions: [{ type: "Reachable", status: "False" }] } };
    assert.deepEqual(totals([{}, { status: { ipus } }, down, { status: { ipus: { total: 8, free: 8, largestFree: 8 } } }]), { total: 72, free: 40, largest: 16 });
});
