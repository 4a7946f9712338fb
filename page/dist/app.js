const socket = new WebSocket(`ws://${location.host}/live`);
socket.onmessage = (message) => (document.querySelector("pre").textContent += `${message.data}\n`);
