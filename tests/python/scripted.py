"""An API server that answers what a test says, for what a real one does not do on demand: breaking off, being busy, forgetting."""

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml


def job(version, state="Running", uid="u1", **more):
    status = {"launcherStatus": state, "lastMessage": f"it is {state}", **more}
    return {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "status": status, "spec": {"workers": {}},
            "metadata": {"name": "j", "namespace": "ml", "uid": uid, "resourceVersion": str(version)}}


def pod(version, state, uid="p1"):
    status = {"containerStatuses": [{"name": "train", "state": {state: {}}}]} if state else {}
    return {"metadata": {"name": "j-worker-0", "uid": uid, "resourceVersion": str(version)}, "status": status,
            "spec": {"nodeName": "n", "containers": [{"name": "train"}]}}


def change(kind, what):
    return (json.dumps({"type": kind, "object": what}) + "\n").encode()


class Answer:
    def __init__(self, body=b"", status=200, breaks=False, **headers):
        """With `breaks` the connection ends before the answer does. A body may be a list of pieces."""
        self.pieces = body if isinstance(body, list) else [body if isinstance(body, bytes) else json.dumps(body).encode()]
        self.status, self.breaks, self.headers = status, breaks, headers


def failure(status, message="", **headers):
    return Answer({"kind": "Status", "message": message}, status, **headers)


class Server:
    """Each request is answered by the rule with the longest beginning of "METHOD path?query"; a rule's last answer stays."""

    def __init__(self, folder):
        self.requests, self.bodies, self.tokens, self._rules = [], [], [], {}
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                script._answer(self)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump({
            "current-context": "it", "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": "ml"}}],
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{self._server.server_port}"}}],
            "users": [{"name": "it", "user": {"token": "first"}}]}))

    def on(self, beginning, *answers):
        """An answer is an Answer, or the object that it has."""
        self._rules[beginning] = list(answers)

    def _answer(self, handler):
        request = f"{handler.command} {urllib.parse.unquote(handler.path)}"
        self.requests.append(request)
        self.tokens.append(handler.headers.get("authorization"))
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.bodies.append(json.loads(body) if body else None)
        answers = self._rules.get(max(filter(request.startswith, self._rules), key=len, default=""))
        answer = failure(404) if answers is None else answers.pop(0) if len(answers) > 1 else answers[0]
        answer = answer if isinstance(answer, Answer) else Answer(answer)
        handler.send_response(answer.status)
        handler.send_header("Transfer-Encoding", "chunked")
        for name, value in answer.headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        for piece in answer.pieces:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.breaks:
            handler.close_connection = True
        else:
            handler.wfile.write(b"0\r\n\r\n")

    def count(self, beginning):
        return sum(request.startswith(beginning) for request in self.requests)

    def close(self):
        self._server.shutdown()
        self._server.server_close()
