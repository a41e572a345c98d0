// A template of a driver (CLIENT_DRIVER.md) for a client in TypeScript or JavaScript: fill in the functions with calls of
// your client. A function that is not filled in throws an error. The answer to `hello` lists only the commands in DOES.
// For TypeScript, rename this file to driver.ts and start it with `node --experimental-strip-types driver.ts`.
import { createInterface } from "node:readline";

const NAME = "my client";
const VERSION = "0.0.0";
// The commands that are filled in, such as ["connect", "close", "subscribe", "state"]. List only commands that your
// client's own code carries out. Leave out what an application would have to do itself; the scenarios that need it are
// skipped. Add "reconnect" if your client connects again by itself.
const DOES = [];

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const missing = (what) => {
  throw new Error(`the driver has no \`${what}\` yet`);
};

// Events: the harness keeps them in the transcript. Call these from your client's own listeners.
export const events = {
  action: (channel, serverSeq, type) => say({ event: "action", channel, serverSeq, type }),
  // state: "connected" | "reconnecting" | "failed"
  connection: (state, version, message) => say({ event: "connection", state, version, message }),
  notification: (method) => say({ event: "notification", method }),
  tool: (toolCallId, name, input) => say({ event: "tool", toolCallId, name, input }),
};

const calls = [];

const commands = {
  async hello() {
    return { name: NAME, version: VERSION, does: DOES };
  },

  // Opens a connection and completes the handshake. Answers with the version that the host chose.
  async connect({ url, clientId, versions, subscriptions }) {
    // client = await MyClient.connect(url, { clientId, versions, initialSubscriptions: subscriptions });
    // return { version: client.protocolVersion };
    return missing("connect");
  },

  // Closes the connection. The next `connect` begins a new session with the host.
  async close() {
    // await client.close(); return {};
    return missing("close");
  },

  // Sends a request. Answers with its result; an error of the host is thrown with its code, message and data.
  async request({ method, params }) {
    // return await client.request(method, params);
    return missing("request");
  },

  // Subscribes. `params` are further params, such as `view`. Answers whether there was a snapshot.
  async subscribe({ channel, params }) {
    // const result = await client.subscribe(channel, params); return { snapshot: result.snapshot !== undefined };
    return missing("subscribe");
  },

  async unsubscribe({ channel }) {
    // await client.unsubscribe(channel); return {};
    return missing("unsubscribe");
  },

  // Dispatches an action in the same way as applications do. Does not wait for the host.
  async dispatch({ channel, action }) {
    // return { clientSeq: client.dispatch(channel, action) };
    return missing("dispatch");
  },

  // Returns the client's own state of a channel: `of` is "confirmed" or "shown" (with pending actions on top). If the
  // client has no optimistic state, both are the same, and `pending` is left out.
  async state({ channel, of }) {
    // const mirror = client.channel(channel);
    // return { state: of === "shown" ? mirror.shown : mirror.confirmed, pending: mirror.pending.length };
    return missing("state");
  },

  // Answers as soon as the client has handled all messages that it has received so far.
  async sync() {
    // await client.ping(); return {};
    return missing("sync");
  },

  // Offers a tool in a session. The tool runs for `takesMs` milliseconds, and returns its input.
  async tool({ channel, name, inputSchema, takesMs }) {
    // client.offerTool(channel, { name, inputSchema }, async (call) => {
    //   calls.push({ toolCallId: call.toolCallId, name, input: call.input });
    //   events.tool(call.toolCallId, name, call.input);
    //   await new Promise((done) => setTimeout(done, takesMs ?? 0));
    //   return call.input;
    // });
    // return {};
    return missing("tool");
  },

  // Returns the list of all calls of tools. Each tool adds an entry when it starts.
  async calls() {
    return { calls };
  },

  // Serves `files`, an object of texts by path, below the URI `root`, and no other files.
  async serve({ root, files, writable }) {
    // client.serveFolder(root, files, { writable }); return {};
    return missing("serve");
  },

  // Gives the client a token for a protected resource, as if a user had signed in.
  async token({ resource, token }) {
    // client.signIn(resource, token); return {};
    return missing("token");
  },

  // CLIENT_DRIVER.md has further commands, for clients that have them: `type` to `consent`.

  // Returns the summaries of the sessions that the client knows.
  async lists() {
    // return { sessions: await client.sessions() };
    return missing("lists");
  },
};

const errorOf = (error) => ({
  code: typeof error?.code === "number" ? error.code : undefined,
  message: String(error?.message ?? error),
  data: error?.data,
});

// Commands begin in the order of their lines and run concurrently, so responses may come in another order.
async function run(line) {
  let id = null;
  try {
    const command = JSON.parse(line);
    id = command.id ?? null;
    if (!Object.hasOwn(commands, command.do)) throw new Error(`unknown command \`${command.do}\``);
    say({ id, ok: await commands[command.do](command) });
  } catch (error) {
    say({ id, error: errorOf(error) });
  }
}

// Standard output is for these lines only: print everything else by console.error.
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => line.trim() !== "" && void run(line));
lines.on("close", () => process.exit(0));
