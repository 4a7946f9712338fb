// What several views use.

import { useState } from "preact/hooks";
import { linkOf } from "./job.js";
import { clock, count, duration } from "./text.js";

/* Names from the cluster may be written from right to left; <bdi> keeps what stands around them in order. */
export function JobLink({ job, known = true }) {
    return known ? <a href={linkOf(job)}><bdi>{job}</bdi></a> : <bdi>{job}</bdi>;
}

export function Time({ time, now }) {
    return <time dateTime={new Date(time).toISOString()} title={new Date(time).toISOString()}>{clock(time, now)}</time>;
}

export function Ago({ time, now }) {
    return <time dateTime={new Date(time).toISOString()} title={new Date(time).toISOString()}>{duration(now - time)}</time>;
}

const MARKS = { Pending: "◷", Starting: "▷", Running: "▶", Restarting: "↻", Suspended: "⏸", Completed: "✓", Failed: "✕", Terminating: "…" };

export function State({ state = "Unknown" }) {
    return <span class={`state ${state}`}><span aria-hidden="true">{MARKS[state] ?? "?"}</span> {state}</span>;
}

/* Rows in portions: a page with 10,000 of them stays usable. */
export function Rows({ rows, row, portion = 50, columns, noun }) {
    const [shown, show] = useState(portion);
    const rest = rows.length - shown;
    return (
        <tbody>
            {rows.slice(0, shown).map(row)}
            {rest > 0 && (
                <tr>
                    <td colSpan={columns} class="wide">
                        <button type="button" onClick={() => show(shown + portion * 4)}>Show {count(Math.min(rest, portion * 4), `more ${noun}`)}</button> of {count(rest, noun)} not shown
                    </td>
                </tr>
            )}
        </tbody>
    );
}

export function Progress({ progress, now }) {
    if (!progress?.summary && progress?.percentage === undefined) return null;
    const end = progress.estimatedEndTime && Date.parse(progress.estimatedEndTime);
    return (
        <span class="progress">
            {Number.isFinite(progress.percentage) && <progress max="100" value={progress.percentage} aria-label="progress" />}{" "}
            {progress.summary ?? `${progress.percentage}%`}
            {end > 0 && <>, ends about <Time time={end} now={now} /></>}
        </span>
    );
}
