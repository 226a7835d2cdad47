#!/usr/bin/env python3
"""Stands in for Hugging Face hubs and their storage hosts, on free ports of the loopback interface.

Reads commands from standard input, one a line, and serves until that ends:
  start SCENARIO.json LOG   a hub and its storage host; answers with the hub's port
  stop PORT                 both close; answers with the port
Each request becomes a line of LOG: "hub|storage METHOD PATH range=... auth=... STATUS".

The scenario: root (folder of the repository's files), repo, commit, revisions; listed (names to announce, if not those of root); gated (a
token without which files are refused); faults, each used `times` times for requests of `host`, `method` and a path that holds `path`:
  status + headers    answer so                       cut N           close the connection after N bytes of the body
  corrupt             flip the body's first byte      whole           ignore a Range header
  hang S              answer after S seconds          slow S          S seconds between pieces of 64 KiB
  override            headers in place of ours (null: leave it out)
Files *.safetensors are large ones: their address leads to the storage host and their ETag is a SHA-256. tokenizer*.json lead elsewhere on
the hub itself, as the hub's own cache does; the rest is answered at once.
"""
import hashlib
import http.server
import json
import os
import pathlib
import sys
import threading
import time
import urllib.parse

PIECE = 1 << 16


class Scenario:
    def __init__(self, path, log):
        self.__dict__.update({"listed": None, "gated": None, "faults": [], "revisions": ["main"]}, **json.load(open(path)))
        self.root = pathlib.Path(self.root)
        self.lock = threading.Lock()
        self.log_file = open(log, "a", buffering=1)
        self.ports = {}

    def fault(self, host, method, path):
        with self.lock:
            for fault in self.faults:
                if fault.get("times", 1) > 0 and fault.get("host", host) == host and fault.get("method", method) == method \
                        and fault.get("path", "") in path:
                    fault["times"] = fault.get("times", 1) - 1
                    return fault
        return {}

    def names(self):
        return sorted(p.name for p in self.root.iterdir())

    def log(self, line):
        with self.lock:
            self.log_file.write(line + "\n")


def etag_of(name, data):
    if name.endswith(".safetensors"):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def handler_of(scenario, host):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.answer()

        def do_GET(self):
            self.answer()

        def answer(self):
            self.fault = scenario.fault(host, self.command, self.path)
            time.sleep(self.fault.get("hang", 0))
            path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
            if "status" in self.fault:
                self.reply(self.fault["status"], self.fault.get("headers", {}))
            elif host == "storage":
                self.file(path.rpartition("/")[2], {})
            else:
                self.hub(path)

        def hub(self, path):
            api, cached = f"/api/models/{scenario.repo}/revision/", "/api/resolve-cache/"
            file = next((path[len(start):] for start in (f"/{scenario.repo}/resolve/{revision}/" for revision in self.revisions())
                         if path.startswith(start)), None)
            if path.startswith(api):
                self.listing(path[len(api):])
            elif file is not None:
                self.resolve(file)
            elif path.startswith(cached):
                self.file(path[len(cached):], {"X-Repo-Commit": scenario.commit})
            else:
                self.reply(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})

        def revisions(self):
            return scenario.revisions + [scenario.commit]

        def listing(self, revision):
            if revision not in self.revisions():
                return self.reply(404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"})
            names = scenario.listed if scenario.listed is not None else scenario.names()
            info = {"id": scenario.repo, "sha": scenario.commit, "siblings": [{"rfilename": name} for name in names]}
            self.reply(200, {"Content-Type": "application/json"}, json.dumps(info).encode())

        def resolve(self, name):
            if scenario.gated and self.headers.get("Authorization") != f"Bearer {scenario.gated}":
                code = 403 if "Authorization" in self.headers else 401
                return self.reply(code, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this model is restricted"})
            if name not in scenario.names():
                return self.reply(404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
            commit = {"X-Repo-Commit": scenario.commit}
            if name.endswith(".safetensors"):
                data = (scenario.root / name).read_bytes()
                self.reply(302, {"Location": f"http://127.0.0.1:{scenario.ports['storage']}/bytes/{name}?signature=x", **commit,
                                 "X-Linked-Etag": f'"{etag_of(name, data)}"', "X-Linked-Size": str(len(data))}, b"Found")
            elif name.startswith("tokenizer"):
                self.reply(307, {"Location": f"/api/resolve-cache/{name}", **commit}, b"Temporary Redirect")
            else:
                self.file(name, commit)

        def file(self, name, headers):
            data = (scenario.root / name).read_bytes()
            headers = {"ETag": f'"{etag_of(name, data)}"', "Accept-Ranges": "bytes", **headers}
            if self.fault.get("corrupt"):
                data = bytes([data[0] ^ 1]) + data[1:]
            asked = self.headers.get("Range")
            if asked is None or self.fault.get("whole"):
                return self.reply(200, headers, data)
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return self.reply(416, {"Content-Range": f"bytes */{len(data)}"})
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.reply(206, headers, data[start:])

        def reply(self, status, headers, body=b""):
            scenario.log(f"{host} {self.command} {self.path} range={self.headers.get('Range', '')} "
                         f"auth={self.headers.get('Authorization', '')} {status}")
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body)), **self.fault.get("override", {})}.items():
                if value is not None:
                    self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            cut = self.fault.get("cut")
            self.send_body(body if cut is None else body[:cut])
            if cut is not None:
                self.close_connection = True

        def send_body(self, body):
            try:
                for at in range(0, len(body), PIECE):
                    self.wfile.write(body[at:at + PIECE])
                    self.wfile.flush()
                    time.sleep(self.fault.get("slow", 0))
            except OSError:  # the client has gone
                self.close_connection = True

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    scenario = None

    def handle_error(self, request, client_address):
        self.scenario.log(f"error {sys.exc_info()[1]!r}")  # a client that went away, mostly


def start(path, log):
    scenario, servers = Scenario(path, log), []
    for host in ("hub", "storage"):
        server = Server(("127.0.0.1", 0), handler_of(scenario, host))
        server.scenario = scenario
        scenario.ports[host] = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
    return str(scenario.ports["hub"]), servers


def main():
    running = {}
    for line in sys.stdin:
        command, *words = line.split()
        if command == "start":
            port, servers = start(*words)
            running[port] = servers
        else:
            port = words[0]
            for server in running.pop(port):
                server.shutdown()
                server.socket.close()
        print(port, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
