import assert from "node:assert/strict";
import { test } from "node:test";
import { startsOf } from "../../../page/src/starts.js";

const controller = (name, starts) => ({ metadata: { name }, status: { starts } });
const at = (minutes) => `2026-11-26T12:${String(minutes).padStart(2, "0")}:00Z`;
const later = (ipus, minutes, more) => ({ ipus, state: "Later", earliest: at(minutes), expected: at(minutes + 5), latest: at(minutes + 10), ...more });
const brief = ({ from, to, state, controller, within }) => [from, to, state, controller, within?.seconds];

test("sizes of which the same is told are one row", () => {
    const rows = startsOf([controller("a", [1, 2, 4].map((ipus) => ({ ipus, state: "Now" })).concat(later(8, 20), later(16, 20), { ipus: 32, state: "Open" }, { ipus: 64, state: "Never" }))]);
    assert.deepEqual(rows.map(brief), [[1, 4, "Now", "a", undefined], [8, 16, "Later", "a", undefined], [32, 32, "Open", "a", undefined], [64, 64, "Never", "a", undefined]]);
    assert.deepEqual(rows[1].band, { from: Date.parse(at(20)), likely: Date.parse(at(25)), to: Date.parse(at(30)) });
    assert.equal(rows[2].band, null);
});

test("of several controllers, the one where it starts the soonest", () => {
    const rows = startsOf([
        controller("a", [later(1, 20), later(2, 30), { ipus: 4, state: "Open" }, { ipus: 8, state: "Never" }, { ipus: 16, state: "AsOfLater" }]),
        controller("b", [{ ipus: 1, state: "Now" }, later(2, 10), later(4, 40), { ipus: 8, state: "Open" }, { ipus: 16, state: "Never" }]),
    ]);
    assert.deepEqual(rows.map(({ from, state, controller }) => [from, state, controller]), [[1, "Now", "b"], [2, "Later", "b"], [4, "Later", "b"], [8, "Open", "b"], [16, "Never", "b"]]);
});

test("the longest deadline with which it starts now, unless it does so anyway", () => {
    const rows = startsOf([
        controller("a", [{ ipus: 1, state: "Now" }, later(2, 20, { startsNowWithin: 600 }), later(4, 20)]),
        controller("b", [later(1, 20, { startsNowWithin: 900 }), later(2, 30, { startsNowWithin: 900 }), later(4, 30)]),
    ]);
    assert.deepEqual(rows.map(brief), [[1, 1, "Now", "a", undefined], [2, 2, "Later", "a", 900], [4, 4, "Later", "a", undefined]]);
    assert.equal(rows[1].within.controller, "b");
});

test("an operator that tells nothing of it leaves nothing, and one that tells too much is cut", () => {
    assert.deepEqual(startsOf([]), []);
    assert.deepEqual(startsOf([{ metadata: { name: "a" } }, controller("b", undefined)]), []);
    assert.equal(startsOf([controller("a", Array.from({ length: 1000 }, (_, i) => later(i + 1, i % 50)))]).length, 32);
});
