// Text as the page shows it. Pure.

// Control characters, and those that reorder or hide the text around them: a name must not look like another one.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const MAY_BE_HIDDEN = new RegExp(HIDDEN.source + "|\\\\u");

function escaped(text) {
    return text.replace(HIDDEN, (found) => "\\u" + found.charCodeAt(0).toString(16).padStart(4, "0"));
}

function visible(value) {
    if (typeof value === "string") return escaped(value);
    if (Array.isArray(value)) return value.map(visible);
    if (!value || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [escaped(key), visible(item)]));
}

/* The only way in for text from the cluster: no view can forget it. Throws on what is no JSON. */
export function parseFrame(text) {
    const frame = JSON.parse(text);
    return MAY_BE_HIDDEN.test(text) ? visible(frame) : frame;
}

export function count(number, noun) {
    return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/* Two units at most, as kubectl writes ages. */
export function duration(ms) {
    const s = Math.max(0, Math.floor(ms / 1000));
    const parts = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]];
    const first = parts.findIndex(([value]) => value > 0);
    if (first < 0) return "0s";
    return parts.slice(first, first < 2 ? first + 2 : first + 1).map(([value, unit]) => value ? value + unit : "").join("");
}

/* A time of the API server in milliseconds, or undefined. */
export function instant(text) {
    const time = typeof text === "string" ? Date.parse(text) : NaN;
    return Number.isNaN(time) ? undefined : time;
}

/* The time of day, with the day if it is another than today. */
export function clock(time, now) {
    const date = new Date(time);
    const of = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    if (date.toDateString() === new Date(now).toDateString()) return of;
    return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${of}`;
}

/* A number as people read it: 0.2134, 12.5, 3,400. */
export function figure(value) {
    const size = Math.abs(value);
    if (size && (size < 0.001 || size >= 1e9)) return value.toExponential(2);
    return value.toLocaleString("en", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
}

/* Not more of a text than a page can show. */
export function shortened(text, max) {
    return text.length > max ? `${text.slice(0, max)} (${count(text.length - max, "more character")})` : text;
}
