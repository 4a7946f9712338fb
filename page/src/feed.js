// The connection to the server: /live, again and again.

import { parseFrame } from "./text.js";

const SHORTEST_MS = 500, LONGEST_MS = 15000;

/* The wait before the nth try in a row; apart by chance, so that many pages do not all come back at once. */
export function backoff(tries, chance) {
    return Math.min(SHORTEST_MS * 2 ** tries, LONGEST_MS) * (0.5 + chance / 2);
}

/* Calls onMessage with each message, and onState when `state` has changed. */
export function openFeed(url, onMessage, onState) {
    const state = { name: "connecting", retryAt: 0, reason: "" };
    let socket, timer, tries = 0;

    function change(values) {
        Object.assign(state, values);
        onState();
    }

    /* The operator's own page sends who is not logged in, or not any more, to its login. */
    async function findLogin() {
        const { redirected, url: login } = await fetch("/", { method: "HEAD" }).catch(() => ({}));
        if (redirected) location.replace(login + location.hash);
    }

    function connect() {
        clearTimeout(timer);
        socket = new WebSocket(url);
        socket.onmessage = ({ data }) => {
            const message = parseFrame(data);
            if (message.type === "hello") {
                tries = 0;
                change({ name: "live", reason: "" });
            }
            onMessage(message);
        };
        socket.onclose = ({ reason }) => {
            if (url.startsWith("wss:")) findLogin(); // kubectl ipu ui has no certificate
            const wait = backoff(tries++, Math.random());
            timer = setTimeout(connect, wait);
            change({ name: "disconnected", retryAt: Date.now() + wait, reason: parseFrame(JSON.stringify(reason)) });
        };
    }

    function retry() {
        if (socket.readyState === WebSocket.CLOSED) connect();
    }
    addEventListener("online", retry);
    connect();
    return {
        state,
        retry,
        send(message) {
            if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
        },
    };
}
