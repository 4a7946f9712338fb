// When a new job would start, by its size.

import { Times } from "./queue.jsx";
import { startsOf } from "./starts.js";
import { duration } from "./text.js";

function Start({ state, controller, band, within, now }) {
    return (
        <>
            {state === "Now" ? <b>now</b> : state === "Never" ? "never: no controller makes such a partition" : band ? <Times band={band} now={now} /> : "at a time that is not known"}
            {within && <small> · now{within.controller !== controller && <> at <bdi>{within.controller}</bdi></>} with activeDeadlineSeconds: {within.seconds} ({duration(within.seconds * 1000)}) or less</small>}
        </>
    );
}

export function Starts({ controllers, now }) {
    const rows = startsOf([...controllers.values()]);
    if (!rows.length) return null;
    return (
        <section aria-labelledby="starts">
            <h2 id="starts">When a new job would start</h2>
            <p class="legend">One instance of ordinary priority, if nothing changes</p>
            <table class="sizes">
                <caption class="hidden">When a new job of each number of IPUs would start</caption>
                <thead><tr><th scope="col" class="number">IPUs</th><th scope="col" class="wide">Starts</th><th scope="col">Controller</th></tr></thead>
                <tbody>
                    {rows.map((row) => (
                        <tr key={row.from}>
                            <td class="number ipus">{row.from === row.to ? row.from : `${row.from} – ${row.to}`}</td>
                            <td class="wide"><Start {...row} now={now} /></td>
                            <td>{row.state !== "Never" && <bdi>{row.controller}</bdi>}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}
