// The map: a grid for each IPU-Link domain, and below it who holds what, also for those who do not see the grid.

import { useState } from "preact/hooks";
import { linkOf } from "./job.js";
import { conditionOf, holderKeys, letterOf, mapOf, numbered } from "./map.js";
import { JobLink, Time } from "./parts.jsx";
import { count, instant } from "./text.js";

const CELL = 20, LETTER = 11, HUES = 8, TEXTURES = 3;

function Textures() {
    return (
        <svg class="defs" aria-hidden="true" width="0" height="0">
            <defs>
                <pattern id="texture1" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="ink" /></pattern>
                <pattern id="texture2" width="5" height="5" patternUnits="userSpaceOnUse"><circle cx="2.5" cy="2.5" r="0.9" class="dot" /></pattern>
                <pattern id="cordoned" width="10" height="10" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><path d="M0 0V10" class="barrier" /></pattern>
            </defs>
        </svg>
    );
}

function look(number) {
    return number === undefined ? { hue: "others", texture: 0, letter: "#" }
        : { hue: `hue${number % HUES}`, texture: Math.floor(number / HUES) % TEXTURES, letter: letterOf(number) };
}

function Block({ block, numbers, lit, light }) {
    const { hue, texture, letter } = look(numbers.get(block.key));
    const at = { x: block.x * CELL + 1, y: block.y * CELL + 1, width: block.w * CELL - 2, height: block.h * CELL - 2, rx: 3 };
    const text = letter + (block.failed ? "!" : "");
    const long = `${text} ${block.label}`;
    return (
        <g class={`block ${hue}${block.failed ? " failed" : ""}${lit && lit !== block.key ? " dim" : ""}${block.job ? " link" : ""}`}
            onMouseEnter={() => light(block.key)} onMouseLeave={() => light(null)} onClick={() => block.job && (location.hash = linkOf(block.job))}>
            <title>{`${long}, IPUs ${block.ipus}${block.failed ? ", the partition has failed" : ""}`}</title>
            <rect {...at} class="area" />
            {texture > 0 && <rect {...at} fill={`url(#texture${texture})`} />}
            {block.failed && <path class="cross" d={`M${at.x} ${at.y}l${at.width} ${at.height}m0 ${-at.height}l${-at.width} ${at.height}`} />}
            <text x={at.x + at.width / 2} y={at.y + at.height / 2}>{long.length * LETTER * 0.6 < at.width ? long : text}</text>
        </g>
    );
}

function Domain({ domain, numbers, lit, light }) {
    const { name, size, columns, rows, free, blocks, reserved, cordoned } = domain;
    const width = columns * CELL, height = rows * CELL;
    const said = `${name}: ${free.length} of ${count(size, "IPU")} free${cordoned ? ", cordoned" : ""}`;
    return (
        <figure class="domain">
            <figcaption><bdi>{name}</bdi> <span>{free.length} of {size} free{cordoned && <b> · cordoned</b>}</span></figcaption>
            <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={said}>
                <rect class="ground" width={width} height={height} />
                {free.map((ipu) => <circle key={ipu} class="free" cx={(ipu % columns + 0.5) * CELL} cy={(Math.floor(ipu / columns) + 0.5) * CELL} r="2" />)}
                {blocks.map((block, i) => <Block key={i} block={block} numbers={numbers} lit={lit} light={light} />)}
                {cordoned && <rect width={width} height={height} fill="url(#cordoned)" class="over" />}
                {reserved.map(({ x, y, w, h, job }, i) => (
                    <g key={i} class="reserved">
                        <title>{`reserved for ${job}`}</title>
                        <rect x={x * CELL + 2} y={y * CELL + 2} width={w * CELL - 4} height={h * CELL - 4} rx="3" />
                        <text x={(x + w) * CELL - 9} y={y * CELL + 12}>R</text>
                    </g>
                ))}
            </svg>
        </figure>
    );
}

function Holders({ holders, numbers, jobs, light, name }) {
    const [all, showAll] = useState(false), few = 12;
    if (!holders.length) return null;
    return (
        <table class="holders">
            <caption class="hidden">Holders of IPUs at {name}</caption>
            <thead><tr><th scope="col"><span class="hidden">Letter</span></th><th scope="col">Holder</th><th scope="col" class="number">IPUs</th><th scope="col" class="wide">Where</th></tr></thead>
            <tbody>
                {holders.slice(0, all ? 2000 : few).map((holder) => {
                    const { hue, texture, letter } = look(numbers.get(holder.key));
                    const where = holder.where.slice(0, 8).join("; ") + (holder.where.length > 8 ? ` and ${count(holder.where.length - 8, "more place")}` : "");
                    return (
                        <tr key={holder.key} onMouseEnter={() => light(holder.key)} onMouseLeave={() => light(null)} onFocusCapture={() => light(holder.key)} onBlurCapture={() => light(null)}>
                            <td><svg class={`swatch block ${hue}`} viewBox="0 0 28 20" role="img" aria-label={letter}><rect class="area" width="28" height="20" rx="3" />{texture > 0 && <rect width="28" height="20" fill={`url(#texture${texture})`} />}<text x="14" y="10">{letter}</text></svg></td>
                            <td>{holder.job ? <JobLink job={holder.job} known={jobs.has(holder.job)} /> : <bdi>{holder.label}</bdi>}
                                {holder.failed > 0 && <b class="bad"> · {count(holder.failed, "failed partition")}</b>}</td>
                            <td class="number ipus">{holder.ipus}</td>
                            <td class="wide"><small>{where || count(holder.partitions, "partition")}</small></td>
                        </tr>
                    );
                })}
                {!all && holders.length > few && <tr><td colSpan={4} class="wide"><button type="button" onClick={() => showAll(true)}>Show {count(holders.length - few, "more holder")}</button></td></tr>}
            </tbody>
        </table>
    );
}

function Controller({ controller, jobs, numbers, lit, light, now }) {
    const { name } = controller.metadata, status = controller.status ?? {}, { domains, holders } = mapOf(controller, jobs);
    const reachable = conditionOf(controller, "Reachable"), healthy = conditionOf(controller, "Healthy"), { ipus, cordon, waiting, version } = status;
    const until = instant(cordon?.until);
    return (
        <section class="controller" aria-label={`V-IPU controller ${name}`}>
            <h3><bdi>{name}</bdi>{" "}
                <span class={reachable?.status === "True" ? "good" : "bad"}>{reachable?.status === "True" ? "✓ up" : reachable?.status === "False" ? "✕ down" : "? unknown"}</span>{version && <small> version <bdi>{version}</bdi></small>}</h3>
            {ipus && <p><b>{ipus.free} of {count(ipus.total, "IPU")} free</b>, largest free block {ipus.largestFree ?? 0}
                {ipus.others > 0 && <>, {ipus.others} not of IPUJobs</>}{ipus.cordoned > 0 && <>, {ipus.cordoned} cordoned</>}{waiting > 0 && <>, {count(waiting, "instance")} waiting</>}</p>}
            {reachable && reachable.status !== "True" && <p class="note bad">{reachable.message}</p>}
            {healthy?.status === "False" && <p class="note bad">{healthy.message}</p>}
            {cordon?.state && <p class="note">{cordon.state === "Drained" ? "Drained: no partition uses cordoned IPUs." : `Draining: ${count(cordon.partitions ?? 0, "partition")} still ${cordon.partitions === 1 ? "uses" : "use"} cordoned IPUs.`}{until !== undefined && <> They are free at <Time time={until} now={now} /> at the latest.</>} {cordon.message}</p>}
            <div class="domains">{domains.map((domain) => <Domain key={domain.name} domain={domain} numbers={numbers} lit={lit} light={light} />)}</div>
            {!domains.length && ipus && <p class="note">This controller does not tell where its partitions are.</p>}
            <Holders holders={holders} numbers={numbers} jobs={jobs} light={light} name={name} />
            {status.morePartitions > 0 && <p class="note">{count(status.morePartitions, "more partition")} not listed.</p>}
        </section>
    );
}

export function Map({ store, numbers, now }) {
    const [lit, light] = useState(null), { controller: controllers, job: jobs } = store.objects;
    const sorted = [...controllers.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    numbered(numbers, holderKeys(sorted));
    return (
        <section aria-labelledby="map">
            <h2 id="map">IPUs</h2>
            <Textures />
            <p class="legend"><span>· free</span> <span>A held, a letter for each holder</span> <span># not of IPUJobs</span> <span>! failed</span> <span>R reserved</span> <span>hatched: cordoned</span></p>
            {"controller" in store.forbidden && <p class="note">You may not list V-IPU controllers: {store.forbidden.controller}</p>}
            {!sorted.length && store.isSynced && !("controller" in store.forbidden) && <p class="note">There is no V-IPU controller.</p>}
            {sorted.map((controller) => <Controller key={controller.metadata.name} controller={controller} jobs={jobs} numbers={numbers} lit={lit} light={light} now={now} />)}
        </section>
    );
}
