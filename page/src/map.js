// Which IPUs of a V-IPU controller who holds: blocks of a grid for each IPU-Link domain, and a row for each holder. Pure.

import { instant } from "./text.js";

const COLUMNS = 16;
const DOMAIN_IPUS = 256; // a mask with more is cut
const MASK = /^[0-9a-f]{1,64}$/i;
const FAILED = "ERROR";

/* The IPUs of a hexadecimal mask, in order. */
export function ipusOf(mask, size = DOMAIN_IPUS) {
    if (typeof mask !== "string" || !MASK.test(mask)) return [];
    const bits = BigInt("0x" + mask), ipus = [];
    for (let i = 0; i < Math.min(size, DOMAIN_IPUS); i++) if ((bits >> BigInt(i)) & 1n) ipus.push(i);
    return ipus;
}

/* "0-15, 32" */
export function rangesOf(ipus) {
    const ranges = [];
    for (const ipu of ipus) {
        const last = ranges.at(-1);
        if (last && last[1] === ipu - 1) last[1] = ipu;
        else ranges.push([ipu, ipu]);
    }
    return ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(", ");
}

/* Rectangles that cover the IPUs in a grid of so many columns, as few as rows and equal rows allow. */
export function blocksOf(ipus, columns) {
    const blocks = [];
    for (const ipu of ipus) {
        const x = ipu % columns, y = Math.floor(ipu / columns), last = blocks.at(-1);
        if (last && last.y === y && last.x + last.w === x) last.w++;
        else blocks.push({ x, y, w: 1, h: 1 });
    }
    const merged = [];
    for (const block of blocks) {
        const above = merged.find((other) => other.x === block.x && other.w === block.w && other.y + other.h === block.y);
        if (above) above.h++;
        else merged.push(block);
    }
    return merged;
}

/* 0 -> A, 25 -> Z, 26 -> AA */
export function letterOf(number) {
    return (number >= 26 ? letterOf(Math.floor(number / 26) - 1) : "") + String.fromCharCode(65 + (number % 26));
}

/* Gives each key a number that it keeps as long as it is there; a number is given again when its key is gone. */
export function numbered(numbers, keys) {
    const wanted = new Set(keys);
    for (const key of numbers.keys()) if (!wanted.has(key)) numbers.delete(key);
    const taken = new Set(numbers.values());
    let next = 0;
    for (const key of wanted) {
        if (numbers.has(key)) continue;
        while (taken.has(next)) next++;
        numbers.set(key, next);
        taken.add(next);
    }
    return numbers;
}

const SILENT_MS = 3 * 60e3; // an operator moves the times of controllers that answer on each minute

/* When an operator last gave a sign of itself, if none seems to run. */
export function lastSignOf(controllers, now) {
    const signs = controllers.filter((controller) => conditionOf(controller, "Reachable")?.status === "True")
        .map((controller) => instant(controller.status.lastAnswerTime) ?? 0);
    const last = Math.max(0, ...signs);
    return last > 0 && last < now - SILENT_MS ? last : undefined;
}

/* Who holds a partition, as far as the status tells. */
export function holderOf(partition) {
    if (!partition.ours) return { key: "others", label: "not of IPUJobs" };
    if (partition.job) return { key: `job ${partition.job}`, label: partition.job, job: partition.job };
    if (partition.namespace) return { key: `namespace ${partition.namespace}`, label: `jobs of namespace ${partition.namespace}` };
    return { key: "ours", label: "IPUJobs" };
}

/* The keys of all holders that have a letter, over all controllers. */
export function holderKeys(controllers) {
    return controllers.flatMap((controller) => (controller.status?.partitions ?? []).map(holderOf).filter((holder) => holder.key !== "others")
        .map((holder) => holder.key));
}

/* The blocks that the queue reserves at this controller: [{job, domain, ipus}]. */
function reservationsOf(controller, jobs) {
    const found = [];
    for (const [job, { status }] of jobs) {
        const forecast = status?.forecast;
        if (!forecast?.reservedBlock || status.queue?.controller !== controller.status?.address) continue;
        for (const { domain, ipus } of forecast.reservedBlock.places ?? []) found.push({ job, domain, ipus });
    }
    return found;
}

export function mapOf(controller, jobs) {
    const { status = {} } = controller;
    const partitions = status.partitions ?? [], reservations = reservationsOf(controller, jobs);
    const holders = new Map();
    for (const partition of partitions) {
        const holder = holderOf(partition);
        const row = holders.get(holder.key) ?? { ...holder, ipus: 0, partitions: 0, failed: 0, where: [] };
        row.ipus += partition.size;
        row.partitions++;
        row.failed += partition.state === FAILED ? 1 : 0;
        row.where.push(...(partition.places ?? []).map(({ domain, ipus }) => `${domain}: ${rangesOf(ipusOf(ipus))}`));
        holders.set(holder.key, row);
    }
    const domains = (status.domains ?? []).map(({ name, size, free, cordoned }) => {
        const columns = Math.max(1, Math.min(COLUMNS, size)), blocks = [];
        for (const partition of partitions) {
            const { key, label, job } = holderOf(partition);
            for (const place of partition.places ?? []) {
                if (place.domain !== name) continue;
                const ipus = ipusOf(place.ipus, size);
                for (const block of blocksOf(ipus, columns)) blocks.push({ ...block, key, label, job, failed: partition.state === FAILED, ipus: rangesOf(ipus) });
            }
        }
        const reserved = reservations.filter((reservation) => reservation.domain === name)
            .flatMap(({ job, ipus }) => blocksOf(ipusOf(ipus, size), columns).map((block) => ({ ...block, job })));
        return {
            name, size, columns, rows: Math.ceil(Math.min(size, DOMAIN_IPUS) / columns), free: ipusOf(free, size), blocks, reserved,
            cordoned: Boolean(cordoned || (status.cordon && !status.cordon.domains && status.cordon.state)),
        };
    });
    return { domains, holders: [...holders.values()].sort((a, b) => b.ipus - a.ipus || (a.label < b.label ? -1 : 1)) };
}

export function conditionOf(object, type) {
    return object.status?.conditions?.find((condition) => condition.type === type);
}

/* Over all controllers that can be reached. */
export function totals(controllers) {
    const sum = { total: 0, free: 0, largest: 0 };
    for (const controller of controllers) {
        const { status } = controller;
        if (conditionOf(controller, "Reachable")?.status === "False") continue;
        sum.total += status?.ipus?.total ?? 0;
        sum.free += status?.ipus?.free ?? 0;
        sum.largest = Math.max(sum.largest, status?.ipus?.largestFree ?? 0);
    }
    return sum;
}
