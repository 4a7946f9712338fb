// The queue, with the times between which each job may start.

import { ipusOfJob } from "./job.js";
import { Ago, JobLink, Rows, Time } from "./parts.jsx";
import { axisOf, queuesOf, sharesOf, turnOf } from "./queue.js";
import { clock, count, duration, instant } from "./text.js";

const WIDTH = 200, HEIGHT = 18, OUTDATED_MS = 5 * 60e3;

/* The band on the common axis; the words beside it say the same. */
function Bar({ band, axis }) {
    const x = (time) => Math.max(0, Math.min(1, (time - axis.from) / (axis.to - axis.from))) * WIDTH;
    const from = x(band.from), to = band.to === undefined ? WIDTH : x(band.to);
    return (
        <svg class="band" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {axis.ticks.map((time) => <path key={time} class="tick" d={`M${x(time)} 0V${HEIGHT}`} />)}
            <rect class={band.to === undefined ? "range open" : "range"} x={from} y="4" width={Math.max(3, to - from)} height={HEIGHT - 8} rx="2" />
            {band.likely !== undefined && <path class="likely" d={`M${x(band.likely)} 1V${HEIGHT - 1}`} />}
        </svg>
    );
}

export function Times({ band, now }) {
    const when = (time) => time <= now ? "now" : clock(time, now);
    const range = band.to === undefined ? `${when(band.from)} or later` : when(band.from) === when(band.to) ? when(band.from) : `${when(band.from)} – ${when(band.to)}`;
    return <>{range}{band.likely !== undefined && when(band.likely) !== range && <>, likely <b>{when(band.likely)}</b></>}</>;
}

export function Band({ job, band, now }) {
    if (!band) return <span class="faint">not known</span>;
    const { asOf, basis, reservedBlock } = job.status.forecast, told = instant(asOf);
    return (
        <span>
            <Times band={band} now={now} />
            <small>{basis && <> {basis}</>}{reservedBlock && <> · reserved</>}{told < now - OUTDATED_MS && <> · as of <Time time={told} now={now} /></>}</small>
        </span>
    );
}

function Queue({ controller, rows, now, jobs }) {
    const axis = axisOf(rows, now), hasBands = rows.some(({ band }) => band);
    return (
        <section aria-label={`Queue of ${controller || "no controller"}`}>
            <h3><bdi>{controller || "Without a controller"}</bdi> <span>{count(rows.length, "job")}</span></h3>
            <table class="queue">
                <caption class="hidden">Jobs that wait, in their order</caption>
                <thead>
                    <tr>
                        <th scope="col" class="number">Place</th><th scope="col">Job</th><th scope="col" class="number">IPUs</th><th scope="col">Waits</th>
                        <th scope="col" class="wide">{hasBands ? "Starts" : "Why"}
                            {hasBands && <div class="starts" aria-hidden="true"><div class="axis"><span>now</span> <span>{clock(axis.to, now)}</span></div></div>}</th>
                    </tr>
                </thead>
                <Rows rows={rows} columns={5} noun="job" row={({ key, job, position, band }) => {
                    const since = instant(turnOf(job)), queue = job.status.queue ?? {};
                    return (
                        <tr key={key}>
                            <td class="number">{position ?? "–"}</td>
                            <td><JobLink job={key} /></td>
                            <td class="number ipus">{queue.ipus ?? ipusOfJob(job)}</td>
                            <td>{since !== undefined && <Ago time={since} now={now} />}</td>
                            <td class="wide">
                                {hasBands && <div class="starts">{band && <Bar band={band} axis={axis} />}<Band job={job} band={band} now={now} /></div>}
                                {queue.blockedBy?.length > 0
                                    ? <small>behind {queue.blockedBy.slice(0, 4).map((blocker, i) => <>{i > 0 && ", "}<JobLink job={blocker} known={jobs.has(blocker)} /></>)}{queue.blockedBy.length > 4 && ` and ${queue.blockedBy.length - 4} more`}</small>
                                    : <small>{job.status.reason}</small>}
                            </td>
                        </tr>
                    );
                }} />
            </table>
        </section>
    );
}

function Shares({ shares: { halfLife, namespaces } }) {
    return (
        <section aria-label="Shares">
            <h3>Shares <span>half-life {duration(halfLife * 1000)}</span></h3>
            <table class="shares">
                <caption class="hidden">What namespaces have used of the IPUs</caption>
                <thead><tr><th scope="col">Namespace</th><th scope="col" class="number">Used</th><th scope="col" class="number">Weight</th></tr></thead>
                <tbody>
                    {namespaces.map(({ namespace, used, weight }) => (
                        <tr key={namespace}><td><bdi>{namespace}</bdi></td><td class="number">{used} %</td><td class="number">{weight}</td></tr>))}
                </tbody>
            </table>
        </section>
    );
}

export function Queues({ store, now }) {
    const queues = queuesOf(store.objects.job), shares = sharesOf(store.objects.controller.values());
    return (
        <section aria-labelledby="queue">
            <h2 id="queue">Queue</h2>
            {!queues.length && store.isSynced && <p class="note">No job waits for IPUs.</p>}
            {queues.map((queue) => <Queue key={queue.controller} {...queue} now={now} jobs={store.objects.job} />)}
            {shares?.namespaces.length > 0 && <Shares shares={shares} />}
        </section>
    );
}
