// Exchanges a token for the cookie that the page needs. Who comes here is logged out.
const say = (text) => (document.querySelector("[role=status]").textContent = text);
const post = (body) => fetch("/login", { method: "POST", body });

post("").catch(() => {});
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  say("Checking the token…");
  post(document.querySelector("#token").value.trim()).then(
    async (answer) => (answer.ok ? location.replace("/" + location.hash) : say(await answer.text())),
    () => say("The server does not answer; try again later."),
  );
});
