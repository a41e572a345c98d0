"""A template of a driver (CLIENT_DRIVER.md) for a client in Python: fill in the functions with calls of your client.
A function that is not filled in raises an error. The answer to `hello` lists only the commands in DOES."""
import asyncio
import json
import sys

NAME = "my client"
VERSION = "0.0.0"
# The commands that are filled in, such as ["connect", "close", "subscribe", "state"]. List only commands that your
# client's own code carries out. Leave out what an application would have to do itself; the scenarios that need it are
# skipped. Add "reconnect" if your client connects again by itself.
DOES = []
CALLS = []


class Refused(Exception):
    """An error of the host: raise it with the code, the message and the data that your client reports."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.data = code, data


def say(line):
    """Writes a line. Standard output is for these lines only: print everything else to sys.stderr."""
    print(json.dumps(line), flush=True)


def missing(what):
    raise NotImplementedError(f"the driver has no `{what}` yet")


def tell(event, **members):
    """Reports an event, which the harness keeps in the transcript. Call this from your client's own listeners:
    tell("action", channel=.., serverSeq=.., type=..), tell("connection", state="connected", version=..),
    tell("notification", method=..), tell("tool", toolCallId=.., name=.., input=..)."""
    say({"event": event, **members})


async def hello(_):
    return {"name": NAME, "version": VERSION, "does": DOES}


async def connect(command):
    """Opens a connection and completes the handshake. Members: url, clientId?, versions?, subscriptions?"""
    # client = await MyClient.connect(command["url"], client_id=command.get("clientId"))
    # return {"version": client.protocol_version}
    missing("connect")


async def close(_):
    """Closes the connection. The next `connect` begins a new session with the host."""
    missing("close")  # await client.close(); return {}


async def request(command):
    """Sends a request and returns its result. Members: method, params."""
    missing("request")  # return await client.request(command["method"], command.get("params"))


async def subscribe(command):
    """Subscribes. Members: channel, params? (further params, such as `view`)."""
    # result = await client.subscribe(command["channel"]); return {"snapshot": result.snapshot is not None}
    missing("subscribe")


async def unsubscribe(command):
    """Unsubscribes. Members: channel."""
    missing("unsubscribe")  # await client.unsubscribe(command["channel"]); return {}


async def dispatch(command):
    """Dispatches an action by the path that applications use, without waiting. Members: channel, action."""
    # return {"clientSeq": client.dispatch(command["channel"], command["action"])}
    missing("dispatch")


async def state(command):
    """Returns the client's own state of a channel. Members: channel, of ("confirmed", or "shown" with pending actions
    on top). Without an optimistic state both are the same, and there is no `pending`."""
    # mirror = client.channel(command["channel"])
    # return {"state": mirror.shown if command["of"] == "shown" else mirror.confirmed, "pending": len(mirror.pending)}
    missing("state")


async def sync(_):
    """Answers as soon as the client has handled all messages that it has received so far."""
    missing("sync")  # await client.ping(); return {}


async def tool(command):
    """Offers a tool that runs for `takesMs` and returns its input. Members: channel, name, inputSchema?, takesMs?"""
    # `run` adds {"toolCallId": .., "name": .., "input": ..} to CALLS before it does anything else.
    # client.offer_tool(command["channel"], command["name"], command.get("inputSchema"), run); return {}
    missing("tool")


async def calls(_):
    return {"calls": CALLS}


async def token(command):
    """Gives the client a token, as if a user had signed in. Members: resource, token."""
    # client.sign_in(command["resource"], command["token"]); return {}
    missing("token")


async def serve(command):
    """Serves the files below the URI `root`, and nothing else. Members: root, files (texts by path), writable?"""
    # client.serve_folder(command["root"], command["files"]); return {}
    missing("serve")


async def lists(_):
    """Returns the summaries of the sessions that the client knows."""
    missing("lists")  # return {"sessions": await client.sessions()}


# CLIENT_DRIVER.md has further commands, for clients that have them: `type` to `consent`.
COMMANDS = {f.__name__: f for f in (hello, connect, close, request, subscribe, unsubscribe, dispatch, state, sync, tool,
                                    calls, serve, token, lists)}


async def run(line):
    number = None
    try:
        command = json.loads(line)
        number = command.get("id")
        if command.get("do") not in COMMANDS:
            raise ValueError(f"unknown command `{command.get('do')}`")
        say({"id": number, "ok": await COMMANDS[command["do"]](command)})
    except Refused as error:
        say({"id": number, "error": {"code": error.code, "message": str(error), "data": error.data}})
    except Exception as error:
        say({"id": number, "error": {"message": f"{type(error).__name__}: {error}"}})


async def main():
    """Commands begin in the order of their lines and run beside each other: a response may come late."""
    running = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip():
            task = asyncio.create_task(run(line))
            running.add(task)
            task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running, timeout=1)


asyncio.run(main())
