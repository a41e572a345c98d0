"""Puts a Python reducer behind the line protocol of REDUCERS.md.

This example has two small reducers; import yours instead, one for each kind of channel.
"""
import json
import sys


def agents(state, action, now):
    return {**state, "agents": action["agents"]} if action.get("type") == "root/agentsChanged" else state


def title(state, action, now):
    return {**state, "title": action["title"]} if action.get("type") == "session/titleChanged" else state


REDUCERS = {"root": agents, "session": title}
TYPES = {}  # name -> function that decodes a value as this type and encodes it again


def answer(question):
    if question.get("op") == "roundtrip":
        return {"value": TYPES[question["type"]](question["value"])}
    reduce, state = REDUCERS[question["reducer"]], question["state"]
    for action in question["actions"]:
        state = reduce(state, action, question.get("now", 0))
    return {"state": state}


for line in filter(str.strip, sys.stdin):
    number = None
    try:
        question = json.loads(line)
        number = question["id"]
        said = answer(question)
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"id": number, **said}), flush=True)
