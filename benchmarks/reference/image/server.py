"""An image that keeps OpenWhisk's contract of containers, by Python's own server, and does nothing."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARK = "XXX_THE_END_OF_A_WHISK_ACTIVATION_XXX"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body of an answer are written one after the other.
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
