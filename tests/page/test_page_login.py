"""The login of the operator's own page."""

GOOD = "a.good-token"
REJECTION = "the API server does not know this token, or it has expired"


def test_a_token_opens_the_page(server, viewer, packages):
    one, posted = viewer(), []
    page = one.page

    def login(route):
        if route.request.method != "POST":
            route.continue_()
            return
        posted.append(route.request.post_data or "")
        if posted[-1] in ("", GOOD):
            route.fulfill(status=204)
        else:
            route.fulfill(status=401, body=REJECTION)

    page.route("**/login", login)
    page.goto(server.url + "login#/jobs")
    page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    assert page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(rule => rule.id))") == []
    field = page.get_by_label("Token of your account in this cluster")
    field.fill("another")
    field.press("Enter")
    one.sees(REJECTION)
    field.fill(f" {GOOD}\n")
    page.get_by_role("button", name="Log in").click()
    one.sees("Live")
    assert page.url == server.url + "#/jobs"
    assert posted == ["", "another", GOOD], "who comes to the login is logged out first"
    one.errors[:] = [error for error in one.errors if "401" not in error]
