import assert from "node:assert/strict";
import { test } from "node:test";
import { queuesOf, sharesOf } from "../../../page/src/queue.js";

test("behind the places a job that was resumed follows those that waited then", () => {
    const job = (created, queuedSince) => ({ metadata: { creationTimestamp: created }, status: { launcherStatus: "Pending", queuedSince } });
    const jobs = new Map([["a/resumed", job("2026-11-26T10:00:00Z", "2026-11-26T11:30:00Z")], ["a/created", job("2026-11-26T11:00:00Z")]]);
    assert.deepEqual(queuesOf(jobs)[0].rows.map(({ key }) => key), ["a/created", "a/resumed"]);
});

test("shares are those of the first controller that tells them", () => {
    const told = { halfLifeSeconds: 604800, namespaces: [{ namespace: "ml", usedPercent: 41, weight: 2 }] };
    assert.deepEqual(sharesOf([{}, { status: { shares: told } }]), { halfLife: 604800, namespaces: [{ namespace: "ml", used: 41, weight: 2 }] });
});

test("without shares there are none, whatever stands in their place", () => {
    for (const shares of [undefined, null, "x", {}, { namespaces: "x" }]) assert.equal(sharesOf([{ status: { shares } }]), null);
    assert.equal(sharesOf([]), null);
});
