// All jobs, and a field that finds some of them.

import { useState } from "preact/hooks";
import { ipusOfJob, matching } from "./job.js";
import { Ago, JobLink, Progress, Rows, State } from "./parts.jsx";
import { count, instant } from "./text.js";

export function Jobs({ store, now }) {
    const [words, search] = useState("");
    const found = matching(store.objects.job, words);
    return (
        <section aria-labelledby="jobs">
            <h2 id="jobs">Jobs</h2>
            <p><label>Find <input type="search" value={words} onInput={({ target }) => search(target.value)} placeholder="name, state or reason" /></label> <span role="status">{count(found.length, "job")}</span></p>
            <table>
                <caption class="hidden">Jobs</caption>
                <thead><tr><th scope="col">Job</th><th scope="col">State</th><th scope="col" class="number">IPUs</th><th scope="col">Progress</th><th scope="col">Age</th><th scope="col" class="wide">Message</th></tr></thead>
                <Rows key={words} rows={found} columns={6} noun="job" row={({ key, job }) => (
                    <tr key={key}>
                        <td><JobLink job={key} /></td>
                        <td><State state={job.status?.launcherStatus} /></td>
                        <td class="number ipus">{ipusOfJob(job)}</td>
                        <td><Progress progress={job.status?.progress} now={now} /></td>
                        <td>{instant(job.metadata?.creationTimestamp) !== undefined && <Ago time={instant(job.metadata.creationTimestamp)} now={now} />}</td>
                        <td class="wide"><small>{(job.status?.lastMessage ?? "").slice(0, 200)}</small></td>
                    </tr>
                )} />
            </table>
        </section>
    );
}
