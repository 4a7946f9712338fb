"""What a person sees, from a feed that is played."""

import pytest
from played import at, controller, event, job, mask, partition, pod, report, site, waiting
from waiting import until


def row(viewer, words):
    """The row of a table that has these words, as one text."""
    rows = viewer.page.locator("tr", has_text=words)
    return " ".join(rows.first.inner_text().split())


def test_map_shows_who_holds_which_ipus(server, viewer):
    site(server)
    page = viewer().open().sees("40 of 256 IPUs free", "largest free block 32", "64 cordoned", "cannot connect to pod64:8090").page
    grids = page.locator("figure.domain svg")
    assert [grids.nth(i).get_attribute("aria-label") for i in range(5)] == [
        "ild0: 8 of 64 IPUs free", "ild1: 32 of 64 IPUs free", "ild2: 0 of 64 IPUs free", "ild3: 0 of 64 IPUs free, cordoned", "ild0: 64 of 64 IPUs free"]
    titles = page.locator(".domain g title").all_text_contents()
    assert titles == ["A ml/bert-l, IPUs 0-31", "B cv/resnet-3, IPUs 32-47", "C! cv/resnet-4, IPUs 48-55, the partition has failed",
                      "D ml/digits, IPUs 0-15", "# not of IPUJobs, IPUs 48-63", "reserved for ml/train-7", "E nlp/llm, IPUs 0-63"]
    assert "1 failed partition" in page.locator("tr", has_text="cv/resnet-4").inner_text()


def test_map_tells_what_waits_and_when_a_drain_ends(server, viewer):
    server.put("controller", controller(waiting=3, version="1.18", cordon={"state": "Draining", "partitions": 2, "until": at(45)}))
    viewer(timezone_id="UTC").open().sees("3 instances waiting", "version 1.18", "2 partitions still use cordoned IPUs", f"free at {at(45)[11:16]} at the latest")


def test_an_operator_that_does_not_run_is_said(server, viewer):
    server.put("controller", controller(lastAnswerTime=at(-14)))
    one = viewer().open().sees("No operator is running: its last sign is 14m", "ask an admin")
    server.put("controller", controller(lastAnswerTime=at(0)))
    one.sees_no("No operator is running")


def test_map_follows_changes_and_holders_keep_their_letters(server, viewer):
    site(server)
    page = viewer().open().page
    letter = page.locator("tr", has_text="nlp/llm").locator("svg")
    assert letter.get_attribute("aria-label") == "E"
    server.put("controller", controller(partitions=[partition("nlp/llm", "ild2", 0, 64), partition("new/first", "ild0", 0, 4)]))
    until(lambda: page.locator(".domain g title").all_text_contents() == ["A new/first, IPUs 0-3", "reserved for ml/train-7", "E nlp/llm, IPUs 0-63"],
          "the map is the new one", seconds=30)
    assert letter.get_attribute("aria-label") == "E"
    server.delete("controller", "pod256")
    until(lambda: page.locator("section.controller").count() == 1, "the controller is gone")


def test_what_visibility_leaves_of_names(server, viewer):
    places = [{"domain": "ild0", "ipus": mask(0, 1)}]
    server.put("controller", controller(partitions=[{"size": 2, "state": "ACTIVE", "ours": True, "namespace": "ml", "places": places}]))
    server.put("controller", controller("plain", domains=(), partitions=[{"size": 2, "state": "ACTIVE", "ours": True, "places": []}],
                                        ipus={"total": 64, "free": 62, "largestFree": 32}, morePartitions=3))
    viewer().open().sees("jobs of namespace ml", "does not tell where its partitions are", "3 more partitions not listed")


def test_a_table_tells_when_a_new_job_would_start(server, viewer):
    site(server)
    page = viewer(timezone_id="UTC").open().page
    table = page.get_by_role("table", name="When a new job of each number of IPUs would start")
    band = f"{at(5)[11:16]} – {at(45)[11:16]}, likely {at(20)[11:16]}"
    rows = lambda: [" ".join(text.split()) for text in table.locator("tbody tr").all_inner_texts()]  # noqa: E731
    assert rows() == ["1 – 8 now pod256", f"16 – 32 {band} · now with activeDeadlineSeconds: 2700 (45m) or less pod256", f"64 {band} pod256",
                      "128 at a time that is not known pod256", "256 never: no controller makes such a partition"]
    server.put("controller", controller("small", starts=[{"ipus": 16, "state": "Now"}]))
    until(lambda: rows()[1:3] == ["16 now small", f"32 {band} · now with activeDeadlineSeconds: 2700 (45m) or less pod256"], lambda: f"the sooner one is told: {rows()}")
    for name in ("small", "pod256"):
        server.put("controller", controller(name))
    until(lambda: table.count() == 0, "nothing is told any more")


def test_queue_has_places_bands_and_holders(server, viewer):
    site(server)
    one = viewer(timezone_id="UTC").open()
    rows = [" ".join(text.split()) for text in one.page.locator("table.queue tbody tr").all_inner_texts()]
    assert [text.split()[:3] for text in rows] == [["1", "ml/train-7", "32"], ["2", "cv/eval-2", "4"], ["3", "nlp/big-1", "128"], ["4", "nlp/big-2", "16"]]
    clock = {minutes: at(minutes)[11:16] for minutes in (5, 20, 45)}
    assert f"{clock[5]} – " in rows[0] and f"{clock[45]}, likely " in rows[0] and f"{clock[20]} deadlines · reserved" in rows[0]
    assert "now – " in rows[1] and "14 runs of eval-*" in rows[1]
    assert "or later, likely" in rows[2] and "not known" in rows[3] and "behind cv/resnet-3" in rows[3]
    server.put("job", job("ml/train-7", "Starting"))
    one.sees_no("ml/train-7")


def test_shares_stand_below_the_queue(server, viewer):
    server.put("controller", controller(shares={"halfLifeSeconds": 604800, "namespaces": [
        {"namespace": "ml", "usedPercent": 59, "weight": 1}, {"namespace": "cv", "usedPercent": 41, "weight": 2}]}))
    one = viewer().open().sees("half-life 7d")
    assert [" ".join(text.split()) for text in one.page.locator("table.shares tbody tr").all_inner_texts()] == ["ml 59 % 1", "cv 41 % 2"]
    server.put("controller", controller())
    one.sees_no("half-life")


def test_a_forecast_that_is_old_says_so(server, viewer):
    server.put("job", waiting("ml/a", 1, forecast={"asOf": at(-60), "expected": at(5)}))
    viewer().open().sees("as of ")


def test_job_page(server, viewer):
    digits = site(server)
    one = viewer().open("#/job/ml/digits").sees("ml/digits", "Running: 1 of 1 instance running", "42%", "kubectl ipu why digits -n ml")
    states = [text.split()[1] for text in one.page.locator("ol.states li").all_inner_texts()]
    assert states == ["Pending", "Starting", "Restarting", "Running"]
    one.sees("OOMKilled, exit code 137, memory ran out", "allocating 8 GiB", "1 other pod of this attempt")
    assert row(one, "digits-worker-3").startswith("0.3 digits-worker-3 Running node-2 3")
    assert one.page.locator("section", has=one.page.locator("#events")).locator("tbody tr").count() == 2
    server.put("pod", pod("ml/digits", 3, "Pending", containerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]))
    one.sees("✕ ImagePullBackOff", "no such image")
    server.put("event", event("ml/digits", "e3", "ImagePullFailed", "cannot pull", 0, "Warning"))
    one.sees("! ImagePullFailed")
    server.put("job", {**digits, "status": {**digits["status"], "launcherStatus": "Failed", "completionTime": at(0), "lastMessage": "all is lost"}})
    one.sees("all is lost")
    until(lambda: one.page.title() == "ml/digits Failed", "the title has the state")
    server.delete("job", "ml/digits")
    one.sees("There is no job of this name, or you may not read it.")


def test_curves_are_of_what_came_since_the_page_was_opened(server, viewer):
    digits = site(server)
    one = viewer().open("#/job/ml/digits").sees("loss")
    assert one.page.locator(".chart").count() == 0
    for step in range(1, 20):
        server.put("job", report(digits, 42 + step, step / 10, loss=1 / step))
    until(lambda: "latest 0.05263, lowest 0.05263, highest 1" in one.text(), "the curve of the loss has all points", tell=one.text)
    assert one.page.locator(".chart svg").first.get_attribute("aria-label").startswith("loss from ")
    server.put("job", {**digits, "status": {**digits["status"], "progress": {"summary": "61% (stale)", "percentage": 61, "problem": "progressPercentage must be 0 to 100"}}})
    one.sees("61% (stale)", "progressPercentage must be 0 to 100")


def test_log_is_asked_for_the_job_that_is_shown(server, viewer):
    site(server)
    one = viewer().open("#/job/ml/digits").sees("No lines yet")
    until(lambda: server.received == [{"type": "logs", "job": "ml/digits"}], lambda: f"the log is asked for: {server.received}")
    server.send(type="log", job="ml/digits", rank="0.10", attempt=1, lines=["step 1", "step 2"])
    server.send(type="log", job="ml/digits", rank="0.9", attempt=0, lines=["over"])
    server.send(type="log", job="cv/other", rank="0.0", attempt=0, lines=["of another job"])
    server.send(type="log-dropped", lines=5)
    one.sees("[0.10, attempt 2] step 2", "[0.9] over", "5 lines left out").sees_no("of another job")
    assert one.page.locator("select option").all_inner_texts() == ["all", "0.9", "0.10"]
    one.page.get_by_role("combobox").select_option("0.9")
    one.sees_no("] step 1").sees("1 line")
    one.page.get_by_role("combobox").select_option("")
    one.page.locator(".tools input[type=search]").fill("STEP 2")
    one.sees("] step 2").sees_no("] step 1")
    one.page.get_by_role("link", name="Jobs", exact=True).click()
    until(lambda: server.received[-1] == {"type": "logs", "job": None}, lambda: f"the log is no longer asked for: {server.received}")


def test_log_follows_until_the_reader_scrolls_up(server, viewer):
    site(server)
    one = viewer().open("#/job/ml/digits")
    server.send(type="log", job="ml/digits", rank="0.0", attempt=0, lines=[f"line {i}" for i in range(3000)])
    one.sees("3,000 lines, the last 1000 are shown", "line 2999").sees_no("line 1999\n")
    at_end = "e => e.scrollHeight - e.scrollTop - e.clientHeight < 40"
    box = one.page.locator("div.log")
    until(lambda: box.evaluate(at_end), "the end is shown")
    box.evaluate("e => { e.scrollTop = 0 }")
    until(lambda: not one.page.get_by_label("follow").is_checked(), "the log no longer follows")
    server.send(type="log", job="ml/digits", rank="0.0", attempt=0, lines=["the newest"])
    one.sees("3,001 lines")
    assert not box.evaluate(at_end)
    one.page.get_by_label("follow").check()
    until(lambda: box.evaluate(at_end), "the end is shown again")


def test_ten_thousand_jobs_stay_usable(server, viewer):
    server.put("controller", controller())
    for number in range(10_000):
        server.put("job", waiting(f"ml/job-{number}", number + 1) if number < 5000 else job(f"ml/job-{number}", lastMessage="x" * 500))
    one = viewer().open().sees("5,000 jobs waiting", "5,000 jobs")
    assert one.page.locator("table.queue tbody tr").count() == 51
    one.page.get_by_role("button", name="Show 200 more jobs").click()
    until(lambda: one.page.locator("table.queue tbody tr").count() == 251, "more rows are shown")
    one.page.get_by_role("link", name="Jobs", exact=True).click()
    one.page.get_by_label("Find").fill("job-9999")
    one.sees("1 job\n", "ml/job-9999")
    one.page.get_by_label("Find").fill("pending")
    one.sees("5,000 jobs")
    elapsed = one.page.evaluate("""() => new Promise(done => {
        const began = performance.now();
        new MutationObserver(() => done(performance.now() - began)).observe(document.getElementById("app"), {subtree: true, childList: true, characterData: true});
        const field = document.querySelector("input[type=search]");
        field.value = "job-77";
        field.dispatchEvent(new Event("input", {bubbles: true}));
    })""")
    print(f"figure: a search among 10,000 jobs is drawn in {elapsed:.0f} ms")
    assert elapsed < 2000  # a net for a busy machine


def test_a_change_is_drawn_at_once(server, viewer):
    site(server)
    page = viewer().open().page
    page.evaluate("""() => { window.drawn = new Promise(done => new MutationObserver((_, watching) => {
        if (document.body.innerText.includes("of 256 IPUs free, largest free block 9")) { watching.disconnect(); done(Date.now()); }
    }).observe(document.body, {subtree: true, childList: true, characterData: true})); }""")
    sent = page.evaluate("Date.now()")
    server.put("controller", controller(ipus={"total": 256, "free": 9, "largestFree": 9}))
    took = page.evaluate("window.drawn") - sent
    print(f"figure: a change of a controller is drawn {took} ms after it was sent")
    assert took < 2000  # a net for a busy machine


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_no_view_is_wider_than_the_screen(server, viewer, width):
    digits = site(server)
    server.put("job", {**digits, "status": {**digits["status"], "lastMessage": "m" * 3000, "failures": [{"pod": "p" * 63, "message": "w" * 3000}]}})
    server.put("pod", pod("ml/digits", 9, "Failed", node="n" * 200, message="c" * 900))
    server.put("event", event("ml/digits", "e9", "R" * 100, "n" * 900))
    one = viewer(viewport={"width": width, "height": 800})
    for route in ("", "#/jobs", "#/job/ml/digits"):
        one.open(route)
        if route.startswith("#/job/"):
            one.sees("w" * 3000, "n" * 200, "R" * 100)
            server.send(type="log", job="ml/digits", rank="0.0", attempt=0, lines=["l" * 5000])
            one.sees("l" * 5000)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width, route
