// One job: where it stands, how it came there, its ranks, its progress, its log.

import { Chart } from "./chart.jsx";
import { eventsOf, ipusOfJob, ranksOf, seriesOf, statesOf } from "./job.js";
import { Log } from "./log.jsx";
import { Ago, JobLink, Progress, Rows, State, Time } from "./parts.jsx";
import { Band } from "./queue.jsx";
import { bandOf } from "./queue.js";
import { clock, count, duration, figure, instant, shortened } from "./text.js";

const WIDTH = 1000, HEIGHT = 26, CHARTS = 8;

function Timeline({ job, seen, now }) {
    const states = statesOf(job, seen);
    if (!states.length) return null;
    const from = states[0].from, end = states.at(-1).to ?? now, span = Math.max(1, end - from);
    const x = (time) => Math.max(0, Math.min(1, (time - from) / span)) * WIDTH;
    return (
        <section aria-labelledby="timeline">
            <h2 id="timeline">Timeline</h2>
            <svg class="timeline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
                {states.map(({ state, from: begin, to = now }, i) => <rect key={i} class={`time ${state}`} x={x(begin)} width={Math.max(4, x(to) - x(begin))} height={HEIGHT} />)}
                {(job.status?.failures ?? []).map(({ time }, i) => instant(time) !== undefined && <path key={i} class="fault" d={`M${x(instant(time))} 0V${HEIGHT}`} />)}
            </svg>
            <ol class="states">
                {states.map(({ state, from: begin, to }, i) => (
                    <li key={i}><State state={state} /> <Time time={begin} now={now} />{(to === undefined || to > begin) && <> for {duration((to ?? now) - begin)}</>}</li>
                ))}
            </ol>
        </section>
    );
}

function Facts({ job, now, jobs }) {
    const { status = {} } = job, ipus = ipusOfJob(job), queue = status.queue, waits = queue && bandOf(job);
    const rows = [
        ["IPUs", ipus !== undefined && `${ipus}${job.spec.jobInstances > 1 ? ` (${count(job.spec.jobInstances, "instance")} of ${job.spec.ipusPerJobInstance})` : ""}`],
        ["Running", status.desiredReplicas > 0 && `${status.currentReplicas ?? 0} of ${count(status.desiredReplicas, "instance")}`],
        ["Progress", status.progress && <><Progress progress={status.progress} now={now} />{status.progress.problem && <small> {status.progress.problem}</small>}</>],
        ["Queue", queue && <>{queue.position ? `place ${queue.position} at ` : ""}<bdi>{queue.controller}</bdi>{queue.totalIpus !== undefined && `, ${queue.freeIpus ?? 0} of ${count(queue.totalIpus, "IPU")} free`}
            {queue.blockedBy?.length > 0 && <>, behind {queue.blockedBy.slice(0, 8).map((blocker, i) => <>{i > 0 && ", "}<JobLink job={blocker} known={jobs.has(blocker)} /></>)}</>}</>],
        ["Starts", waits && <Band job={job} band={waits} now={now} />],
        ["Partitions", status.partitions?.length > 0 && status.partitions.map(({ id, ipus: size, state, message }) => `${id} (${count(size ?? 0, "IPU")}, ${state ?? "unknown"}${message ? `: ${message}` : ""})`).join("; ")],
        ["Restarts", status.restartCount > 0 && String(status.restartCount)],
        ["Ends", instant(status.endTime) !== undefined && <Time time={instant(status.endTime)} now={now} />],
        ["Created", instant(job.metadata?.creationTimestamp) !== undefined && <><Ago time={instant(job.metadata.creationTimestamp)} now={now} /> ago</>],
    ];
    return <dl class="facts">{rows.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

function how({ exitCode, signal, outOfMemory, reason }) {
    return [reason, exitCode !== undefined && `exit code ${exitCode}`, signal && `signal ${signal}`, outOfMemory && "memory ran out"].filter(Boolean).join(", ");
}

function Failures({ failures, now }) {
    if (!failures?.length) return null;
    return (
        <section aria-labelledby="failures">
            <h2 id="failures">Failures</h2>
            {failures.slice(0, 16).map((failure, i) => (
                <article key={i}>
                    <h3>Instance {failure.instance ?? 0}, attempt {(failure.attempt ?? 0) + 1} <span>{instant(failure.time) !== undefined && <Time time={instant(failure.time)} now={now} />}</span></h3>
                    <p><bdi>{failure.pod}</bdi>{failure.node && <> on <bdi>{failure.node}</bdi></>}: {how(failure)}</p>
                    {failure.message && <pre tabIndex={0} aria-label="Last lines">{failure.message}</pre>}
                    {failure.otherPods?.length > 0 && <details><summary>{count(failure.otherPods.length, "other pod")} of this attempt</summary>
                        {failure.otherPods.map((pod, j) => <div key={j}><p><bdi>{pod.pod}</bdi>: {how(pod)}</p>{pod.message && <pre tabIndex={0} aria-label={`Last lines of ${pod.pod}`}>{pod.message}</pre>}</div>)}</details>}
                </article>
            ))}
        </section>
    );
}

function Ranks({ ranks, now, forbidden }) {
    return (
        <section aria-labelledby="ranks">
            <h2 id="ranks">Ranks</h2>
            {forbidden !== undefined && <p class="note">You may not list pods: {forbidden}</p>}
            {!ranks.length ? forbidden === undefined && <p class="note">The job has no pods now.</p> : (
                <table>
                    <caption class="hidden">Ranks and their pods</caption>
                    <thead><tr><th scope="col">Rank</th><th scope="col">Pod</th><th scope="col">State</th><th scope="col">Node</th><th scope="col">For</th><th scope="col" class="wide">Cause</th></tr></thead>
                    <Rows rows={ranks} columns={6} noun="rank" row={({ rank, pod, node, since, state, cause, bad }) => (
                        <tr key={pod}>
                            <td>{rank}</td><td><bdi>{pod}</bdi></td><td class={bad ? "bad" : ""}>{bad && "✕ "}{state}</td><td><bdi>{node ?? "–"}</bdi></td>
                            <td>{since !== undefined && <Ago time={since} now={now} />}</td><td class="wide"><small>{shortened(cause ?? "", 1000)}</small></td>
                        </tr>
                    )} />
                </table>
            )}
        </section>
    );
}

function Curves({ points, now }) {
    const series = seriesOf(points).filter(({ points: of }) => of.length > 1);
    if (!series.length) return null;
    return (
        <section aria-labelledby="curves">
            <h2 id="curves">Progress</h2>
            <p class="faint">Reports since {clock(points[0].time, now)}, as far as this page was open.</p>
            <div class="charts">{series.slice(0, CHARTS).map((of) => <Chart key={of.name} {...of} now={now} />)}</div>
        </section>
    );
}

function Metrics({ trainer }) {
    if (!trainer?.metrics?.length) return null;
    return <dl class="facts">{trainer.metrics.map(({ name, value }, i) => <div key={i}><dt><bdi>{name}</bdi></dt><dd><bdi>{value === "" || Number.isNaN(Number(value)) ? value : figure(Number(value))}</bdi></dd></div>)}</dl>;
}

function Events({ events, now, forbidden }) {
    if (!events.length && forbidden === undefined) return null;
    return (
        <section aria-labelledby="events">
            <h2 id="events">Events</h2>
            {forbidden !== undefined && <p class="note">You may not list events: {forbidden}</p>}
            {events.length > 0 && (
                <table>
                    <caption class="hidden">Events, the newest first</caption>
                    <thead><tr><th scope="col">When</th><th scope="col">Reason</th><th scope="col" class="wide">Note</th></tr></thead>
                    <Rows rows={events} portion={20} columns={3} noun="event" row={({ time, type, reason, about, note, count: times }, i) => (
                        <tr key={i}>
                            <td><Time time={time} now={now} /></td>
                            <td class={type === "Warning" ? "bad" : ""}>{type === "Warning" && "! "}{reason}{times > 1 && ` ×${times}`}</td>
                            <td class="wide">{about && <><bdi>{about}</bdi>: </>}{shortened(note ?? "", 1000)}</td>
                        </tr>
                    )} />
                </table>
            )}
        </section>
    );
}

export function Job({ store, id, now }) {
    const { job: jobs, pod: pods, event: events } = store.objects, job = jobs.get(id);
    if (!job) {
        return <section><h2><bdi>{id}</bdi></h2><p class="note">{store.isSynced ? "There is no job of this name, or you may not read it." : "Reading the jobs"}</p></section>;
    }
    const [namespace, name] = id.split("/"), { status = {} } = job;
    return (
        <article class="job">
            <h2><bdi>{id}</bdi> <State state={status.launcherStatus} /></h2>
            <p class="message">{status.reason && <b>{status.reason}: </b>}{shortened(status.lastMessage ?? "", 2000)}</p>
            <Facts job={job} now={now} jobs={jobs} />
            <p class="faint">Why, and what to do: <code>kubectl ipu why {name} -n {namespace}</code></p>
            <Timeline job={job} seen={store.changes.get(id) ?? []} now={now} />
            <Curves points={store.points.get(id) ?? []} now={now} />
            <Metrics trainer={status.trainerStatus} />
            <Failures failures={status.failures} now={now} />
            <Ranks ranks={ranksOf(id, pods)} now={now} forbidden={store.forbidden.pod} />
            <Events events={eventsOf(id, pods, events)} now={now} forbidden={store.forbidden.event} />
            {store.log && <Log key={id} log={store.log} forbidden={store.forbidden.log} />}
        </article>
    );
}
