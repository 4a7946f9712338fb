// Exchanges the token of the URL's fragment, which browsers send to nobody, for the cookie.
const token = location.hash.slice(1);
const say = (text) => (document.querySelector("p").textContent = text);

history.replaceState(null, "", "/login");
fetch("/login", { method: "POST", body: token }).then(
  async (answer) => (answer.ok ? location.replace("/") : say(await answer.text())),
  () => say("kubectl ipu ui does not answer: has it ended?"),
);
