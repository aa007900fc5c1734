"""An image of a user's own that keeps OpenWhisk's contract of containers, unless it is told not to."""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

ACT = os.environ.get("ACT", "")
MARK = "XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX"
told = {}
runs = 0


def run(body):
    global runs
    runs += 1
    value = body["value"]
    act = value.get("act")
    if act == "never":
        time.sleep(600)
    if act == "die":
        os._exit(7)
    if act == "write":
        with open("/written", "w") as file:
            file.write("x")
    print("run", runs, flush=True)
    print("complaint", file=sys.stderr, flush=True)
    print(MARK, flush=True)
    print(MARK, file=sys.stderr, flush=True)
    return {
        "runs": runs,
        "value": value,
        "init": told,
        "action": body.get("action_name"),
        "user": os.getuid(),
        "place": os.getcwd(),
        "own": os.environ.get("OF_THE_IMAGE"),
        "preload": os.environ.get("LD_PRELOAD"),
        "secret": os.environ.get("BURST_RUNTIME_TOKEN"),
    }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        global told
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/init":
            if ACT == "die at init":
                os._exit(9)
            if ACT == "refuse":
                return self.answer(502, {"error": "no such function"})
            value = body["value"]
            value["env"] = sorted(value["env"])
            told = value
            return self.answer(200, {"ok": True})
        act = body["value"].get("act")
        if act == "much":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x" * 1048576)
        if act == "endless header":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                self.wfile.write(b"x" * 1048576)
        if act == "rubbish":
            return self.wfile.write(b"what is HTTP?\r\n\r\n")
        if act == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/")
            return self.end_headers()
        if act == "text":
            self.send_response(200)
            self.end_headers()
            return self.wfile.write(b"not JSON")
        if act == "error":
            return self.answer(502, {"error": "on purpose"})
        self.answer(200, run(body))

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


print("starting", flush=True)
HTTPServer(("", 8080), Handler).serve_forever()
