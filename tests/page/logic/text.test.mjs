import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, count, duration, figure, instant, parseFrame, shortened } from "../../../page/src/text.js";

test("characters that hide or reorder text are shown as their codes, in keys too", () => {
    const frame = parseFrame(JSON.stringify({ name: "a\u202eb\u0007\n\tc", list: ["\u200bx"], "k\u2066": 1, none: null }));
    assert.deepEqual(frame, { name: "a\\u202eb\\u0007\n\tc", list: ["\\u200bx"], "k\\u2066": 1, none: null });
    assert.deepEqual(parseFrame('{"name": "a\u202eb"}'), { name: "a\\u202eb" });
});

test("other text stays as it is", () => {
    assert.deepEqual(parseFrame('{"name": "Zoë \\"<b>\\" שלום"}'), { name: 'Zoë "<b>" שלום' });
});

test("durations have two units at most", () => {
    const cases = [[-5, "0s"], [999, "0s"], [59_000, "59s"], [14 * 60e3 + 5000, "14m"], [3600e3, "1h"], [6480e3, "1h48m"], [51 * 3600e3, "2d3h"], [48 * 3600e3 + 60e3, "2d"]];
    for (const [ms, text] of cases) assert.equal(duration(ms), text);
});

test("numbers are written as people read them", () => {
    const cases = [[0, "0"], [0.23123, "0.2312"], [12.5, "12.5"], [3400.4, "3,400"], [0.00001, "1.00e-5"], [-2e12, "-2.00e+12"]];
    for (const [value, text] of cases) assert.equal(figure(value), text);
    assert.equal(count(1, "IPU"), "1 IPU");
    assert.equal(count(10000, "job"), "10,000 jobs");
});

test("a time that is none is undefined", () => {
    for (const text of [undefined, null, "", "yesterday", 12]) assert.equal(instant(text), undefined);
    assert.equal(instant("1970-01-01T00:00:01Z"), 1000);
});

test("a clock has the day only on another day", () => {
    const now = new Date(2026, 10, 26, 11, 5).getTime();
    assert.equal(clock(now, now), "11:05");
    assert.equal(clock(now + 24 * 3600e3, now), "27 Nov 11:05");
});

test("long text is cut, and says so", () => {
    assert.equal(shortened("abc", 3), "abc");
    assert.equal(shortened("abcd", 3), "abc (1 more character)");
});
