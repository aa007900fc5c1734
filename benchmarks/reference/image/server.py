"""The server of an image that implements OpenWhisk's container contract with Python's own HTTP server, and does nothing."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARK = "XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body of a response are separate writes, which Nagle's algorithm would delay.
    disable_nagle_algorithm = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/run":
            print(MARK, flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("0.0.0.0", 8080), Handler).serve_forever()
