// Puts a TypeScript or JavaScript reducer behind the line protocol of REDUCERS.md.
// This example has two small reducers; import yours instead, one for each kind of channel.
import { createInterface } from "node:readline";

const title = (state, action) =>
  action.type === "session/titleChanged" ? { ...state, title: action.title } : state;
const agents = (state, action) =>
  action.type === "root/agentsChanged" ? { ...state, agents: action.agents } : state;

const reducers = { root: agents, session: title };
// For reducers with decoded types (zod, io-ts, classes): name => value => encode(decode(value)).
const roundtrips = {};

function answer({ op, reducer, state, actions, now, type, value }) {
  if (op === "roundtrip") {
    if (!roundtrips[type]) throw new Error(`no type ${type}`);
    return { value: roundtrips[type](value) };
  }
  if (!reducers[reducer]) throw new Error(`no reducer ${reducer}`);
  Date.now = () => now ?? 0; // reducers up to 0.8.0 read the clock
  // Passes only state and action: `reduce` also passes the index, which a reducer might take for another argument.
  return { state: actions.reduce((before, action) => reducers[reducer](before, action), state) };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  let id = null;
  let result;
  try {
    const question = JSON.parse(line);
    id = question.id;
    result = answer(question);
  } catch (error) {
    result = { error: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify({ id, ...result })}\n`);
}
