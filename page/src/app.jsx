// The page: what comes by the feed goes into the store, and the store onto the screen.

import { render } from "preact";
import { openFeed } from "./feed.js";
import { Job } from "./job.jsx";
import { routeOf } from "./job.js";
import { Jobs } from "./jobs.jsx";
import { Map as IpuMap } from "./map.jsx";
import { lastSignOf, totals } from "./map.js";
import { Ago } from "./parts.jsx";
import { Queues } from "./queue.jsx";
import { queuesOf } from "./queue.js";
import { Starts } from "./starts.jsx";
import { newStore, openLog, receive, LIMITS } from "./store.js";
import { count } from "./text.js";

const isOperators = location.protocol === "https:"; // else that of kubectl ipu ui
const TICK_MS = 5000, LONGEST_PAUSE_MS = 150;
const store = newStore(), numbers = new Map(), root = document.getElementById("app");
let timer, cost = 0;

/* By the API server's clock, from which the times in objects are. */
function serverNow() {
    return Date.now() - (store.hello.clockAheadSeconds ?? 0) * 1000;
}

/* Many changes at once are drawn once, and drawing leaves the processor time to do something else. */
function draw() {
    timer ??= setTimeout(() => {
        const began = performance.now();
        timer = undefined;
        render(<App />, root);
        cost = performance.now() - began;
    }, Math.min(cost * 2, LONGEST_PAUSE_MS));
}

const feed = openFeed(`${isOperators ? "wss" : "ws"}://${location.host}/live`, (message) => {
    receive(store, message, serverNow());
    if (message.type === "hello" && store.log) feed.send({ type: "logs", job: store.log.job });
    draw();
}, draw);

function go() {
    const { job = null } = routeOf(location.hash);
    if ((store.log?.job ?? null) !== job) {
        openLog(store, job);
        feed.send({ type: "logs", job });
    }
    draw();
    scrollTo(0, 0);
}

function connectionText(now) {
    if (feed.state.name === "connecting") return "Connecting";
    if (feed.state.name === "disconnected") {
        const reason = feed.state.reason || (store.hello.type ? "Connection lost" : isOperators ? "No connection" : "No connection: check that kubectl ipu ui is running, and open the address that it prints");
        return `${reason}; next try in ${Math.max(0, Math.ceil((feed.state.retryAt - now) / 1000))} s`;
    }
    if (!store.api.connected) return store.api.message || "No connection to the API server";
    return store.isSynced ? "Live" : "Reading objects";
}

function Header({ view, now }) {
    const { hello, objects } = store, isGood = feed.state.name === "live" && store.api.connected;
    const { total, free, largest } = totals([...objects.controller.values()]);
    const waiting = queuesOf(objects.job).reduce((sum, { rows }) => sum + rows.length, 0);
    const link = (name, target, text) => <a href={target} aria-current={view === name ? "page" : undefined}>{text}</a>;
    return (
        <header>
            <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content").focus(); }}>Skip to the content</a>
            <h1>IPU jobs</h1>
            <nav aria-label="Views">{link("home", "#/", "IPUs and queue")} {link("jobs", "#/jobs", "Jobs")}</nav>
            <p role="status">{total > 0 && `${free} of ${count(total, "IPU")} free, largest free block ${largest}. `}{store.isSynced && `${count(waiting, "job")} waiting.`}</p>
            <p class={`connection ${isGood ? "good" : "bad"}`}>
                <span role="status">{isGood ? "●" : "○"} {connectionText(now)}</span>
                {feed.state.name === "disconnected" && <> <button type="button" onClick={feed.retry}>Retry now</button></>}
                {hello.type && <small> namespace {hello.namespace ? <bdi>{hello.namespace}</bdi> : hello.filtered ? "every one that you may see" : "all"}{hello.user && <>, user <bdi>{hello.user}</bdi></>}{hello.filtered && <>, <a href="/login">Log out</a></>}</small>}
            </p>
        </header>
    );
}

function App() {
    const now = serverNow(), { view, job } = routeOf(location.hash);
    const lastSign = store.isSynced ? lastSignOf([...store.objects.controller.values()], now) : undefined;
    document.title = job ? `${job} ${store.objects.job.get(job)?.status?.launcherStatus ?? ""}` : "IPU jobs";
    return (
        <>
            <Header view={view} now={Date.now()} />
            <main id="content" tabIndex={-1}>
                {lastSign !== undefined && <p class="note bad" role="alert">No operator is running: its last sign is <Ago time={lastSign} now={now} /> old. What is shown is from then; ask an admin.</p>}
                {"job" in store.forbidden && <p class="note">You may not list jobs: {store.forbidden.job}</p>}
                {[...store.evicted].map((kind) => <p key={kind} class="note">There are more than {count(LIMITS[kind], kind)}; the others are not shown.</p>)}
                {view === "jobs" ? <Jobs store={store} now={now} /> : view === "job" ? <Job store={store} id={job} now={now} />
                    : <div class="home"><IpuMap store={store} numbers={numbers} now={now} /><div><Starts controllers={store.objects.controller} now={now} /><Queues store={store} now={now} /></div></div>}
            </main>
        </>
    );
}

root.replaceChildren();
addEventListener("hashchange", go);
setInterval(draw, TICK_MS);
go();
