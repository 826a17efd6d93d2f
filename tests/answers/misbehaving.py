"""A child that does what it is told to, bad things too: run by the tests of the sandbox."""

from __future__ import annotations

import os
import time

from wmbxl.answers.sandbox import serve


def answer(request):
    match request["do"]:
        case "echo":
            return request["value"]
        case "pid":
            return os.getpid()
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(request["value"])
            return "slept"
        case "grab":
            try:
                return len(bytearray(request["value"]))
            except MemoryError:
                return "refused"
        case "die":
            os._exit(3)


if __name__ == "__main__":
    serve(answer, megabytes=100)
