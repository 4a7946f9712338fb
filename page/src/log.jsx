// The merged log of a job's ranks.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "./text.js";

const SHOWN = 1000, HUES = 8;

/* A rank keeps its color: FNV-1a of its name. */
function hueOf(rank) {
    let hash = 0x811c9dc5;
    for (const character of rank) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
    return hash % HUES;
}

export function Log({ log, forbidden }) {
    const [rank, choose] = useState(""), [words, search] = useState(""), [follows, follow] = useState(true);
    const box = useRef(null), wanted = words.toLowerCase();
    const found = log.lines.filter((line) => (!rank || line.rank === rank) && (!wanted || line.text.toLowerCase().includes(wanted)));
    const shown = found.slice(-SHOWN);
    useLayoutEffect(() => {
        if (follows) box.current.scrollTop = box.current.scrollHeight;
    });
    /* Who scrolls up wants to read. */
    const onScroll = ({ target }) => follow(target.scrollHeight - target.scrollTop - target.clientHeight < 40);
    return (
        <section aria-labelledby="log">
            <h2 id="log">Log</h2>
            <p class="tools">
                <label>Rank <select value={rank} onChange={({ target }) => choose(target.value)}>
                    <option value="">all</option>
                    {[...log.ranks].sort(new Intl.Collator("en", { numeric: true }).compare).map((of) => <option key={of} value={of}>{of}</option>)}
                </select></label>{" "}
                <label>Find <input type="search" value={words} onInput={({ target }) => search(target.value)} /></label>{" "}
                <label><input type="checkbox" checked={follows} onChange={({ target }) => follow(target.checked)} /> follow</label>{" "}
                <span>{count(found.length, "line")}{found.length > SHOWN && `, the last ${SHOWN} are shown`}</span>
            </p>
            {log.dropped > 0 && <p class="note">{count(log.dropped, "line")} left out: the job prints faster than they can be shown. <code>kubectl ipu logs</code> prints all.</p>}
            {forbidden !== undefined && <p class="note">You may not read the log: {forbidden}</p>}
            <div class="log" role="log" aria-live="off" aria-label="Log of the ranks" tabIndex={0} ref={box} onScroll={onScroll}>
                {!shown.length && forbidden === undefined && <p class="faint">No lines yet</p>}
                {shown.map((line) => (
                    <div key={line.number}><span class={`rank ink${hueOf(line.rank)}`}>[<bdi>{line.rank}</bdi>{line.attempt > 0 && <>, attempt {line.attempt + 1}</>}]</span> <bdi>{line.text}</bdi>{line.cut > 0 && <i> ({count(line.cut, "more character")})</i>}</div>
                ))}
            </div>
        </section>
    );
}
