"""Who cannot use a mouse, see colors or see the page at all; and text that wants to be more than text."""

import pytest
from played import controller, event, job, partition, pod, report, site
from waiting import until

ROUTES = ("", "#/jobs", "#/job/ml/digits")
EVIL = "<script>window.evil=1</script><img src=x onerror=window.evil=1>\u202egnp.exe\u2066\u200b&amp;"


def full(server, one, digits):
    """A page with all of its parts."""
    server.put("job", report(digits, 43, 0, loss=0.2))
    server.send(type="log", job="ml/digits", rank="0.0", attempt=1, lines=[f"line {i}" for i in range(200)])
    one.page.locator("details summary").evaluate_all("all => all.forEach(one => one.click())")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(server, viewer, packages, scheme, width):
    digits = site(server)
    one = viewer(color_scheme=scheme, viewport={"width": width, "height": 900}).open()
    one.page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    for route in ROUTES:
        one.page.evaluate("to => { location.hash = to }", route or "#/")
        if "digits" in route:
            one.sees("Timeline")
            full(server, one, digits)
            one.sees("line 199")
            until(lambda: one.page.locator(".chart").count() == 2, "the curves are drawn")
        found = one.page.evaluate("axe.run(document, {resultTypes: ['violations', 'incomplete']})")
        assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]] == [], route
        assert len(found["passes"]) > 10


def test_the_keyboard_reaches_everything(server, viewer):
    site(server)
    one = viewer().open()
    page = one.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    reached = []
    while len(reached) < 60 and (not reached or reached[-1] != reached[0] or len(reached) == 1):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText"))
        if reached[-1] == "ml/train-7":
            break
    assert {"nlp/llm", "ml/bert-l", "ml/digits", "ml/train-7"} <= set(reached), reached
    page.keyboard.press("Enter")
    one.sees("Timeline")
    assert page.url.endswith("#/job/ml/train-7")


def test_no_two_of_the_first_holders_look_the_same_without_colors(server, viewer):
    parts = [partition(f"ml/job-{i}", f"ild{i // 8}", i % 8 * 8, 8) for i in range(30)]
    server.put("controller", controller(partitions=parts))
    page = viewer(forced_colors="active").open().page
    letters = page.locator(".domain g.block text").all_text_contents()
    assert len({text.split()[0] for text in letters}) == 30
    assert {"url(#texture1)", "url(#texture2)"} <= {fill for fill in page.locator(".domain g.block rect").evaluate_all("all => all.map(one => one.getAttribute('fill'))") if fill}


def test_text_from_the_cluster_is_only_text(server, viewer):
    """Names that the API server would reject are in it too: the page does not rely on that."""
    odd = job(f"ml/{EVIL.replace('/', '|')}", lastMessage=EVIL, reason=EVIL, failures=[{"pod": EVIL, "message": EVIL, "reason": EVIL, "node": EVIL}], progress={"summary": EVIL, "percentage": 5, "problem": EVIL},
              trainerStatus={"metrics": [{"name": EVIL, "value": EVIL}]}, partitions=[{"id": EVIL, "message": EVIL}])
    plain = {**odd, "metadata": {**odd["metadata"], "name": "plain"}}
    server.put("job", odd)
    server.put("job", plain)
    server.put("pod", pod("ml/plain", 0, node=EVIL, containerStatuses=[{"state": {"waiting": {"reason": EVIL, "message": EVIL}}}]))
    server.put("event", event("ml/plain", "e", EVIL, EVIL))
    server.put("controller", controller(partitions=[partition(f"ml/{EVIL.replace('/', '|')}", "ild0", 0, 64)], cordon={"state": "Drained", "message": EVIL},
                                        conditions=[{"type": "Reachable", "status": "False", "message": EVIL}]))
    server.states = [{"type": "state", "connected": False, "message": EVIL}]
    one = viewer()
    one.page.goto(server.url)
    for route in ("#/", "#/jobs", "#/job/ml/plain"):
        one.page.evaluate("to => { location.hash = to }", route)
        server.send(type="log", job="ml/plain", rank=EVIL, attempt=0, lines=[EVIL])
        one.sees("<script>", "onerror", "\\u202e", "&amp;")
        assert one.page.evaluate("[document.querySelectorAll('#app script, #app img').length, window.evil]") == [0, None]
        assert not set("\u202e\u2066\u200b") & set(one.page.content())
    one.sees("\\u202egnp.exe")


def test_a_title_that_is_read_out_has_the_numbers(server, viewer):
    site(server)
    page = viewer().open().page
    assert page.locator("header [role=status]").first.inner_text() == "40 of 256 IPUs free, largest free block 32. 4 jobs waiting."
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("table", name="Holders of IPUs at pod256").count() == 1
