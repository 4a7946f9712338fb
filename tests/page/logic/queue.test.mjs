import assert from "node:assert/strict";
import { test } from "node:test";
import { sharesOf } from "../../../page/src/queue.js";

test("shares are those of the first controller that tells them", () => {
    const told = { halfLifeSeconds: 604800, namespaces: [{ namespace: "ml", usedPercent: 41, weight: 2 }] };
    assert.deepEqual(sharesOf([{}, { status: { shares: told } }]), { halfLife: 604800, namespaces: [{ namespace: "ml", used: 41, weight: 2 }] });
});

test("without shares there are none, whatever stands in their place", () => {
    for (const shares of [undefined, null, "x", {}, { namespaces: "x" }]) assert.equal(sharesOf([{ status: { shares } }]), null);
    assert.equal(sharesOf([]), null);
});
