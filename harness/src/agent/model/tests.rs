//! Tests of the stand-in, request by request.

use super::*;

fn setting(flavor: &ModelFlavor) -> ModelSetting<'_> {
    ModelSetting { flavor, base: "http://127.0.0.1:9", epoch: 1_000, serial: 7 }
}

/// Sends a request. Returns the status, the written bytes and the record.
pub(super) fn ask(path: &str, query: &str, body: &Value) -> (u16, String, Value) {
    let flavor = ModelFlavor::named("plain").unwrap();
    let body = body.to_text();
    let request = ModelRequest { method: "POST", path, query, token: None, body: body.as_bytes() };
    let answered = answer(&request, &setting(&flavor));
    let status = answered.reply.status;
    let written = answered.reply.take(200).filter_map(|beat| match beat {
        ReplyBeat::Write(text) => Some(text),
        ReplyBeat::Pause(_) | ReplyBeat::Hold(_) => None,
    });
    (status, written.collect(), answered.record)
}

pub(super) fn shell() -> Value {
    json!({
        "type": "object", "required": ["command", "why", "mode"],
        "properties": {
            "command": {"type": "string"}, "why": {"type": "string"}, "mode": {"enum": ["a", "b"]},
        },
    })
}

const SCRIPT: &str = "Please.\nahp-script: 1\nthink \"hm\"\nsay \"a\" \"b\"\ntool shell \"echo hi\" confirm\nsay done";

/// Returns a request in the form of a family, always with the same prompt. The conversation has this many
/// rounds of tool calls.
fn conversation(family: &str, rounds: usize, stream: bool) -> Value {
    match family {
        "chat" => {
            let mut messages = vec![json!({"role": "system", "content": "ahp-script: 1\nsay no"})];
            messages.push(json!({"role": "user", "content": (SCRIPT)}));
            for _ in 0..rounds {
                let calls = json!([{"id": "c1", "type": "function"}]);
                messages.push(json!({"role": "assistant", "tool_calls": (calls)}));
                messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": "hi"}));
            }
            let function = json!({"name": "bash", "parameters": (shell())});
            json!({
                "model": "m", "stream": (stream), "messages": (messages),
                "tools": [{"type": "function", "function": (function)}],
            })
        }
        "responses" => {
            let text = json!([{"type": "input_text", "text": (SCRIPT)}]);
            let mut input = vec![json!({"role": "user", "content": (text)})];
            for _ in 0..rounds {
                input.push(json!({"type": "function_call", "call_id": "c1", "name": "bash"}));
                input
                    .push(json!({"type": "function_call_output", "call_id": "c1", "output": "hi"}));
            }
            let tool = json!({"type": "function", "name": "bash", "parameters": (shell())});
            json!({"model": "m", "stream": (stream), "input": (input), "tools": [(tool)]})
        }
        "messages" => {
            let reminder = json!({"type": "text", "text": "<system-reminder>x</system-reminder>"});
            let text = json!({"type": "text", "text": (SCRIPT)});
            let mut messages =
                vec![json!({"role": "user", "content": [(reminder.clone()), (text)]})];
            messages.push(json!({"role": "system", "content": "# Environment\nLinux"}));
            for _ in 0..rounds {
                let call = json!({"type": "tool_use", "id": "c1", "name": "bash", "input": {}});
                messages.push(json!({"role": "assistant", "content": [(call)]}));
                let result = json!({"type": "tool_result", "tool_use_id": "c1", "content": "hi"});
                messages.push(json!({"role": "user", "content": [(result), (reminder.clone())]}));
            }
            let tool = json!({"name": "Bash", "input_schema": (shell())});
            json!({"model": "m", "stream": (stream), "messages": (messages), "tools": [(tool)]})
        }
        _ => {
            let mut contents = vec![json!({"role": "user", "parts": [{"text": (SCRIPT)}]})];
            for _ in 0..rounds {
                let call = json!({"functionCall": {"name": "run_shell_command"}});
                contents.push(json!({"role": "model", "parts": [(call)]}));
                let response = json!({
                    "functionResponse": {"name": "run_shell_command", "response": {"output": "hi"}},
                });
                contents.push(json!({"role": "user", "parts": [(response)]}));
            }
            let declared = json!({"name": "run_shell_command", "parameters": (shell())});
            json!({"contents": (contents), "tools": [{"functionDeclarations": [(declared)]}]})
        }
    }
}

fn path(family: &str, stream: bool) -> (&'static str, &'static str) {
    match (family, stream) {
        ("chat", _) => ("/v1/chat/completions", ""),
        ("responses", _) => ("/v1/responses", ""),
        ("messages", _) => ("/v1/messages", "beta=true"),
        (_, true) => ("/v1beta/models/g:streamGenerateContent", "alt=sse"),
        (_, false) => ("/v1beta/models/g:generateContent", ""),
    }
}

const FAMILIES: [&str; 4] = ["chat", "responses", "messages", "gemini"];

#[test]
fn every_family_plays_the_script_round_by_round() {
    for (family, stream) in FAMILIES.iter().flat_map(|family| [(family, true), (family, false)]) {
        let (at, query) = path(family, stream);
        let (status, first, record) = ask(at, query, &conversation(family, 0, stream));
        assert_eq!(status, 200);
        let says = json!([
            {"thought": "hm"}, {"text": "a"}, {"text": "b"},
            {
                "call": (record["tools"][0].clone()), "id": "call_7_0",
                "arguments": {"command": "echo hi", "why": "scripted", "mode": "a"},
            },
        ]);
        assert_eq!(record["says"], says, "{family}");
        for part in ["hm", "echo hi", "scripted"] {
            assert!(first.contains(part), "{family} {stream}: {part} in {first}");
        }
        let (_, second, record) = ask(at, query, &conversation(family, 1, stream));
        assert_eq!(record["says"], json!([{"text": "done"}]), "{family}");
        let told = record["results"][0]["text"].as_str().unwrap_or_default();
        assert!(told.contains("hi"), "{family}: {record}");
        assert!(second.contains("done") && !second.contains("echo hi"), "{family}: {second}");
    }
}

#[test]
fn permanent_failures_follow_the_flavor() {
    let check = |flavor: &str, path: &str, line: &str, status: u16, name: &str| {
        let tool = json!({"name": "x", "function": {"name": "x"}});
        let prompt = format!("ahp-script: 1\n{line}");
        let messages = json!([{"role": "user", "content": (prompt.as_str())}]);
        let body = json!({
            "messages": (messages), "input": (prompt.as_str()), "tools": [(tool)], "stream": true,
        });
        let flavor = ModelFlavor::named(flavor).unwrap();
        let setting = ModelSetting { flavor: &flavor, base: "", epoch: 0, serial: 1 };
        let body = body.to_text();
        let request =
            ModelRequest { method: "POST", path, query: "", token: None, body: body.as_bytes() };
        let answered = answer(&request, &setting);
        assert_eq!(answered.reply.status, status, "{path} {line}");
        let written: String = answered
            .reply
            .filter_map(|beat| match beat {
                ReplyBeat::Write(text) => Some(text),
                _ => None,
            })
            .collect();
        assert!(written.contains(&format!("\"{name}\"")), "{written}");
    };
    check("plain", "/messages", "fail rate-limit", 429, "rate_limit_error");
    check("plain", "/responses", "fail rate-limit", 429, "rate_limit_error");
    check("copilot", "/messages", "fail rate-limit", 400, "invalid_request_error");
    check("copilot", "/messages", "fail auth", 401, "authentication_error");
    check("copilot", "/messages", "say a\nfail rate-limit", 200, "invalid_request_error");
    check("copilot", "/responses", "fail rate-limit", 400, "invalid_prompt");
    check("copilot", "/responses", "say a\nfail auth", 200, "invalid_prompt");
    check("copilot", "/chat/completions", "fail rate-limit", 429, "rate_limit_error");
}

#[test]
fn the_last_of_several_unanswered_prompts_counts() {
    let block =
        |text: &str| json!({"type": "text", "text": (format!("ahp-script: 1\nsay {text}"))});
    let content = json!([(block("old")), (block("new"))]);
    let messages = json!([{"role": "user", "content": (content)}]);
    let tool = json!({"name": "x", "input_schema": {}});
    let body = json!({"messages": (messages), "tools": [(tool)]});
    let (_, _, record) = ask("/messages", "", &body);
    assert_eq!(record["says"], json!([{"text": "new"}]));
}

#[test]
fn an_answer_without_streaming_fails_as_a_whole() {
    let messages = json!([{"role": "user", "content": "ahp-script: 1\nsay a\nfail bad-request"}]);
    let tool = json!({"name": "x", "input_schema": {}});
    let body = json!({"messages": (messages), "tools": [(tool)]});
    let (status, written, _) = ask("/messages", "", &body);
    assert_eq!(status, 400);
    assert!(written.contains("scripted failure") && !written.contains("\"a\""), "{written}");
}

#[test]
fn a_question_has_choices_where_its_tool_wants_them() {
    let check = |required: &[&str], line: &str, wanted: usize| {
        let question = json!({"type": "object", "required": (required), "properties": {
            "question": {"type": "string"}, "options": {"type": "array"},
        }});
        let schema = json!({"type": "object", "properties": {
            "questions": {"type": "array", "items": (question)},
        }});
        let tool = json!({"name": "AskUserQuestion", "input_schema": (schema)});
        let prompt = format!("ahp-script: 1\n{line}");
        let messages = json!([{"role": "user", "content": (prompt)}]);
        let body = json!({"messages": (messages), "tools": [(tool)]});
        let (_, _, record) = ask("/v1/messages", "", &body);
        let options = &record["says"][0]["arguments"]["questions"][0]["options"];
        assert_eq!(options.as_array().map_or(0, Vec::len), wanted, "{record}");
    };
    check(&["question", "options"], "ask \"Name?\"", 2);
    check(&["question", "options"], "ask \"Name?\" a b c", 3);
    check(&["question"], "ask \"Name?\"", 0);
}

#[test]
fn a_confirm_call_sets_the_option_that_makes_the_agent_ask() {
    let check = |choices: &[&str], option: &str, wanted: Option<&str>| {
        let mode = json!({"type": "string", "enum": (choices)});
        let schema = json!({"type": "object", "properties": {
            "cmd": {"type": "string"}, "sandbox_permissions": (mode),
            "justification": {"type": "string"},
        }});
        let tool = json!({"type": "function", "name": "exec_command", "parameters": (schema)});
        let prompt = format!("ahp-script: 1\ntool shell ls {option}");
        let body = json!({"input": (prompt), "tools": [(tool)]});
        let (_, _, record) = ask("/v1/responses", "", &body);
        let arguments = &record["says"][0]["arguments"];
        assert_eq!(arguments["cmd"], "ls");
        assert_eq!(arguments["sandbox_permissions"].as_str(), wanted, "{choices:?} {option}");
        assert_eq!(arguments["justification"].is_string(), wanted.is_some());
    };
    let escalated = Some("require_escalated");
    check(&["use_default", "require_escalated"], "confirm", escalated);
    check(&["use_default", "require_escalated"], "", None);
    check(&["use_default", "another"], "confirm", None);
}

#[test]
fn streams_are_events_whose_data_is_json() {
    for family in FAMILIES {
        let (at, query) = path(family, true);
        let (_, written, _) = ask(at, query, &conversation(family, 0, true));
        assert!(written.ends_with("\n\n"), "{family}");
        for event in written.trim_end().split("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            let value = Value::read(data);
            assert!(data == "[DONE]" || value.is_ok(), "{family}: {event}");
            if let Some(name) = event.lines().find_map(|line| line.strip_prefix("event: ")) {
                assert_eq!(value.unwrap()["type"], name, "{family}");
            }
        }
    }
    let array = conversation("gemini", 0, true);
    let (_, written, _) = ask("/v1beta/models/g:streamGenerateContent", "", &array);
    assert!(Value::read(&written).unwrap().as_array().unwrap().len() > 3, "{written}");
}

/// Returns a request with one message and, if given, one tool.
fn one(prompt: &str, tool: Option<(&str, Value)>) -> Value {
    let tools: Vec<Value> = tool
        .map(|(name, schema)| json!({"name": (name), "input_schema": (schema)}))
        .into_iter()
        .collect();
    let messages = json!([{"role": "user", "content": (prompt)}]);
    json!({"model": "m", "messages": (messages), "tools": (tools)})
}

fn says(prompt: &str, tool: Option<(&str, Value)>) -> (u16, Value) {
    let (status, _, record) = ask("/v1/messages", "", &one(prompt, tool));
    (status, record["says"].clone())
}

#[test]
fn prompts_without_a_script_are_echoed_and_context_is_not() {
    let echoed = |prompt: &str, text: &str| {
        assert_eq!(says(prompt, None).1, json!([{"text": (text)}]), "{prompt}");
    };
    echoed("Hello!", "Hello!");
    echoed("<context>a\nb</context>\nHello <3!", "Hello <3!");
    echoed("<context>a</context><user_query>Hi</user_query>", "Hi");
    echoed("", "nothing was asked");
}

#[test]
fn scripts_are_found_within_added_context() {
    let played = |prompt: &str| {
        let (_, says) = says(prompt, Some(("bash", shell())));
        assert_eq!(says, json!([{"text": "x"}]), "{prompt}");
    };
    played("ahp-script: 1\nsay x");
    played("<context>\nsay no\n</context>\n<userRequest>\nahp-script: 1\nsay x\n</userRequest>");
    played("<q>ahp-script: 1\nsay x\n</q>\ntail");
    played("ahp-script: 1\r\nsay x\r\n\r\nthe rest");
}

#[test]
fn tools_are_chosen_by_class() {
    let string = |names: &[&str]| {
        let rows = names.iter().map(|name| (*name, json!({"type": "string"})));
        let rows: Value = rows.collect();
        json!({"type": "object", "properties": (rows), "required": (names)})
    };
    let called = |step: &str, tool: &str, schema: Value, arguments: Value| {
        let prompt = format!("ahp-script: 1\n{step}");
        let (_, says) = says(&prompt, Some((tool, schema)));
        assert_eq!(says[0]["call"], tool, "{step}: {says}");
        assert_eq!(says[0]["arguments"], arguments, "{step}");
    };
    called("tool shell ls", "exec_command", string(&["cmd"]), json!({"cmd": "ls"}));
    let list = json!({"properties": {"command": {"type": "array"}}});
    called("tool shell ls", "local_shell", list, json!({"command": ["bash", "-lc", "ls"]}));
    called("tool shell ls fails", "my_terminal", string(&["command"]), json!({"command": "ls"}));
    called("tool read /a", "read_file", string(&["filePath"]), json!({"filePath": "/a"}));
    let content = json!({"file_path": "/a", "content": "b"});
    called("tool write \"/a\\nb\"", "Write", string(&["file_path", "content"]), content);
    let edit = json!({"path": "/a", "old_str": "b", "new_str": "c\nd"});
    called(
        "tool edit \"/a\\nb\\nc\\nd\"",
        "str_replace",
        string(&["path", "old_str", "new_str"]),
        edit,
    );
    called("tool mcp probe \"{\\\"a\\\":1}\"", "mcp__s__probe", string(&[]), json!({"a": 1}));
    called("tool client t x", "t", string(&["text"]), json!({"text": "x"}));
    let choices = json!({"properties": {"question": {}, "choices": {"items": {"type": "string"}}}});
    let asked = json!({"question": "Which?", "choices": ["a", "b"]});
    called("ask \"Which?\" a b", "ask_user", choices, asked);
}

/// A tool: its name, its required arguments, its optional arguments. All arguments are strings.
type ToolRow = (&'static str, &'static [&'static str], &'static [&'static str]);

fn schema_of(required: &[&str], more: &[&str]) -> Value {
    let all =
        required.iter().chain(more).map(|name| ((*name).to_owned(), json!({"type": "string"})));
    let properties: Value = all.collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns the call that a step makes if the agent offers these tools, in the form of Anthropic's messages.
fn chosen(step: &str, rows: &[ToolRow]) -> Value {
    let tools: Value = rows
        .iter()
        .map(|(name, required, more)| {
            json!({"name": name, "input_schema": (schema_of(required, more))})
        })
        .collect();
    let messages = json!([{"role": "user", "content": (format!("ahp-script: 1\n{step}"))}]);
    let (_, _, record) =
        ask("/v1/messages", "", &json!({"model": "m", "messages": messages, "tools": tools}));
    record["says"][0].clone()
}

#[test]
fn tools_are_chosen_by_what_they_take() {
    // The tools of certified agents, some of which resemble each other.
    let codex: &[ToolRow] = &[
        ("write_stdin", &["session_id"], &["chars"]),
        ("exec_command", &["cmd"], &["workdir", "shell"]),
        ("view_image", &["path"], &[]),
        ("spawn_agent", &[], &["message", "model"]),
    ];
    let claude: &[ToolRow] = &[
        ("Agent", &["description", "prompt"], &["subagent_type"]),
        ("Monitor", &["description", "timeout_ms"], &["command"]),
        ("NotebookEdit", &["notebook_path", "new_source"], &["cell_id"]),
        ("TaskStop", &[], &["task_id", "shell_id"]),
        ("WebSearch", &["query"], &[]),
        ("WebFetch", &["url", "prompt"], &[]),
        ("Workflow", &[], &["script", "name"]),
        ("Write", &["file_path", "content"], &[]),
        ("Read", &["file_path"], &["offset", "limit"]),
        ("Edit", &["file_path", "old_string", "new_string"], &[]),
        ("Bash", &["command"], &["description"]),
    ];
    let own: &[ToolRow] = &[
        ("inscribe", &["path", "contents"], &[]),
        ("mend", &["path", "old_text", "new_text"], &["all"]),
        ("peruse", &["path"], &["start_line", "end_line"]),
        ("perform", &["commandLine"], &[]),
        ("obtain", &["url"], &[]),
        ("glance", &["path"], &[]),
    ];
    let check = |rows: &[ToolRow], step: &str, tool: Option<&str>| {
        let says = chosen(step, rows);
        assert_eq!(says.get("call").and_then(Value::as_str), tool, "{step}: {says}");
        if tool.is_none() {
            let said = says["text"].as_str().unwrap();
            let names = rows.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
            assert!(said.ends_with(&format!("(offered: {names})")), "{said}");
        }
    };
    check(codex, "tool shell ls", Some("exec_command"));
    check(codex, "tool write \"/a\\nb\"", None);
    check(codex, "tool read /a", None);
    check(codex, "tool edit \"/a\\nb\\nc\"", None);
    for (step, tool) in [
        ("tool shell ls", "Bash"),
        ("tool read /a", "Read"),
        ("tool write \"/a\\nb\"", "Write"),
        ("tool edit \"/a\\nb\\nc\"", "Edit"),
        ("tool fetch \"http://a/\"", "WebFetch"),
        ("tool worker \"do it\"", "Agent"),
    ] {
        check(claude, step, Some(tool));
    }
    check(claude, "tool delete /a", None);
    check(claude, "tool search a", None);
    for (step, tool) in [
        ("tool shell ls", "perform"),
        ("tool read /a", "peruse"),
        ("tool write \"/a\\nb\"", "inscribe"),
        ("tool edit \"/a\\nb\\nc\"", "mend"),
        ("tool fetch \"http://a/\"", "obtain"),
    ] {
        check(own, step, Some(tool));
    }
}

/// Returns the item of a call of this tool, in the form of OpenAI's responses.
fn item_of(step: &str, tool: &Value, more: &str) -> Value {
    let prompt = format!("ahp-script: 1\n{step}");
    let body = json!({"input": prompt, "tools": [(tool.clone())], "instructions": more});
    let (_, written, _) = ask("/v1/responses", "", &body);
    Value::read(&written).unwrap()["output"][0].clone()
}

#[test]
fn every_form_of_tools_is_called_in_its_own_form() {
    let text = || schema_of(&["text"], &[]);
    let inner = json!({"type": "function", "name": "ahp_probe", "parameters": (text())});
    let namespace = json!({"type": "namespace", "name": "mcp__ahp", "tools": [inner]});
    let item = item_of("tool mcp ahp_probe hi", &namespace, "");
    assert_eq!(item["name"], "ahp_probe");
    assert_eq!(item["namespace"], "mcp__ahp");
    assert_eq!(item["arguments"], "{\"text\":\"hi\"}");
    let shell = item_of("tool shell ls", &json!({"type": "local_shell"}), "");
    assert_eq!(shell["type"], "local_shell_call");
    assert_eq!(shell["action"]["command"], json!(["bash", "-lc", "ls"]));
    let shell = item_of("tool shell ls", &json!({"type": "shell"}), "");
    assert_eq!(
        (&shell["type"], &shell["action"]),
        (&json!("shell_call"), &json!({"commands": ["ls"]}))
    );
    let changed = |step: &str| item_of(step, &json!({"type": "apply_patch"}), "");
    let edit = changed("tool edit \"a.txt\\nb\\nc\"");
    assert_eq!(edit["type"], "apply_patch_call");
    let update = json!({"type": "update_file", "path": "a.txt", "diff": "@@\n-b\n+c\n"});
    assert_eq!(edit["operation"], update);
    let create = json!({"type": "create_file", "path": "a.txt", "diff": "+b\n"});
    assert_eq!(changed("tool write \"a.txt\\nb\"")["operation"], create);
    let delete = json!({"type": "delete_file", "path": "a.txt"});
    assert_eq!(changed("tool delete a.txt")["operation"], delete);
    let patch = json!({"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}});
    let edit = item_of("tool edit \"a.txt\\nb\\nc\"", &patch, "");
    assert_eq!(edit["type"], "custom_tool_call");
    let wanted = "*** Begin Patch\n*** Update File: a.txt\n@@\n-b\n+c\n*** End Patch\n";
    assert_eq!(edit["input"], wanted);
    let gone = item_of("tool delete a.txt", &patch, "");
    assert_eq!(gone["input"], "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n");
    // This agent offers a server's tools only through another tool.
    let by = json!({
        "type": "function", "name": "tool_call",
        "parameters": {
            "type": "object", "required": ["name", "arguments"],
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        },
    });
    let item = item_of("tool mcp ahp_probe hi", &by, "Deferred: `mcp__ahp__ahp_probe`, others.");
    let arguments = Value::read(item["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"name": "mcp__ahp__ahp_probe", "arguments": {"text": "hi"}}));
    // An editor with several purposes; its type implies the schema.
    let editor = json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"});
    let messages = json!([{"role": "user", "content": "ahp-script: 1\ntool write \"/a\\nb\""}]);
    let body = json!({"model": "m", "messages": messages, "tools": [editor]});
    let (_, _, record) = ask("/v1/messages", "", &body);
    let wanted = json!({"path": "/a", "file_text": "b", "command": "create"});
    assert_eq!(record["says"][0]["arguments"], wanted);
    // Chat completions: a tool with free text, and the older member for tools.
    let custom = json!({"type": "custom", "custom": {"name": "apply_patch"}});
    let messages = json!([{"role": "user", "content": "ahp-script: 1\ntool delete a.txt"}]);
    let body = json!({"model": "m", "messages": messages, "tools": [custom]});
    let (_, written, _) = ask("/v1/chat/completions", "", &body);
    let call = Value::read(&written).unwrap()["choices"][0]["message"]["tool_calls"][0].clone();
    assert_eq!(call["type"], "custom");
    assert_eq!(call["custom"]["input"], gone["input"]);
    let older = json!([{"name": "bash", "parameters": (schema_of(&["command"], &[]))}]);
    let messages = json!([{"role": "user", "content": "ahp-script: 1\ntool shell ls"}]);
    let (_, _, record) = ask(
        "/v1/chat/completions",
        "",
        &json!({"model": "m", "messages": messages, "functions": older}),
    );
    assert_eq!(record["says"][0]["call"], "bash");
    // Gemini spells types in capitals.
    let declared = json!({
        "name": "perform",
        "parameters": {
            "type": "OBJECT", "required": ["command"], "properties": {"command": {"type": "STRING"}},
        },
    });
    let contents = json!([{"role": "user", "parts": [{"text": "ahp-script: 1\ntool shell ls"}]}]);
    let tools = json!([{"function_declarations": [declared]}]);
    let (_, _, record) =
        ask("/v1beta/models/g:generateContent", "", &json!({"contents": contents, "tools": tools}));
    assert_eq!(record["says"][0]["arguments"], json!({"command": "ls"}));
}

#[test]
fn a_tool_that_is_not_offered_is_reported() {
    let prompt = "ahp-script: 1\nsay a\ntool edit x\nsay b";
    let (status, _, record) = ask("/v1/messages", "", &one(prompt, Some(("bash", shell()))));
    assert_eq!(status, 200);
    let problem = record["problem"].as_str().unwrap();
    assert!(problem.contains("class `edit`") && problem.contains("bash"), "{problem}");
    assert_eq!(record["says"][0], json!({"text": "a"}));
    assert_eq!(record["says"].as_array().unwrap().len(), 2);
    let (_, says) = says("ahp-script: 1\nsing", Some(("bash", shell())));
    assert!(says[0]["text"].as_str().unwrap().contains("found `sing`"), "{says}");
}

#[test]
fn failures_have_the_form_of_their_family() {
    let failed = |family: &str, kind: &str, expected: u16| {
        let mut body = conversation(family, 0, true);
        let text = body.to_text().replace("think \\\"hm\\\"", &format!("wait 5ms\\nfail {kind}"));
        body = Value::read(&text).unwrap();
        let (at, query) = path(family, true);
        let (status, written, _) = ask(at, query, &body);
        assert_eq!(status, expected, "{family}: {written}");
        assert!(Value::read(&written).unwrap().get("error").is_some(), "{written}");
    };
    for family in FAMILIES {
        failed(family, "rate-limit", 429);
        failed(family, "overloaded", 529);
        failed(family, "anything", 500);
    }
    // After the first text the response already has its status, so the stream fails.
    let prompt = "ahp-script: 1\nsay a\nfail overloaded";
    let mut body = one(prompt, Some(("bash", shell())));
    body["stream"] = json!(true);
    let (status, written, _) = ask("/v1/messages", "", &body);
    assert_eq!(status, 200);
    assert!(written.contains("event: error") && !written.contains("message_stop"), "{written}");
}

#[test]
fn requests_without_tools_get_only_texts() {
    let prompt = "ahp-script: 1\nfail rate-limit\nhold x\nsay title";
    assert_eq!(says(prompt, None), (200, json!([{"text": "title"}])));
}

#[test]
fn waits_keep_their_place_in_the_script() {
    let flavor = ModelFlavor::named("plain").unwrap();
    let mut body = one("ahp-script: 1\nsay a\nhold go\nwait 5ms\nendless", Some(("bash", shell())));
    body["stream"] = json!(true);
    let body = body.to_text();
    let request = ModelRequest {
        method: "POST",
        path: "/messages",
        query: "",
        token: None,
        body: body.as_bytes(),
    };
    let beats: Vec<ReplyBeat> = answer(&request, &setting(&flavor)).reply.take(50).collect();
    let at = |beat: &ReplyBeat| beats.iter().position(|found| found == beat);
    let (hold, pause) =
        (at(&ReplyBeat::Hold("go".to_owned())), at(&ReplyBeat::Pause(Duration::from_millis(5))));
    assert!(hold.unwrap() > 0 && pause.unwrap() == hold.unwrap() + 1, "{beats:?}");
    assert_eq!(beats.len(), 50);
}

#[test]
fn an_invalid_token_is_refused() {
    let flavor = ModelFlavor::named("copilot").unwrap();
    let get = |token| {
        let path = "/copilot_internal/user";
        let request = ModelRequest { method: "GET", path, query: "", token, body: b"" };
        answer(&request, &setting(&flavor)).reply.status
    };
    assert_eq!(get(Some("not-a-token-1")), 401);
    assert_eq!(get(Some("gho_any")), 200);
    assert_eq!(get(None), 200);
}

#[test]
fn the_flavor_answers_at_its_paths() {
    let flavor = ModelFlavor::named("copilot").unwrap();
    let get = |method: &str, path: &str| {
        let request = ModelRequest {
            method,
            path,
            query: "",
            token: None,
            body: b"{\"id\":1,\"method\":\"ping\"}",
        };
        let reply = answer(&request, &setting(&flavor)).reply;
        let status = reply.status;
        let text: String = reply.map(|beat| format!("{beat:?}")).collect();
        (status, text)
    };
    assert!(get("GET", "/copilot_internal/user").1.contains("http://127.0.0.1:9"));
    assert!(get("GET", "/copilot_internal/v2/token").1.contains("4600"));
    assert!(get("GET", "/v1/models").1.contains("gpt-4.1"));
    assert_eq!(get("GET", "/mcp").0, 405);
    assert!(get("POST", "/mcp").1.contains("result"));
    assert_eq!(get("GET", "/nowhere").0, 200);
    assert_eq!(ModelFlavor::all().len(), FLAVORS);
}

/// The number of files in `flavors/`, all of which have to be valid.
const FLAVORS: usize = 2;

#[test]
fn invalid_bodies_do_not_crash_the_stand_in() {
    let flavor = ModelFlavor::named("plain").unwrap();
    for body in [&b"no"[..], b"", b"\xff", b"[1]", b"null", b"{\"messages\":{\"a\":1}}"] {
        let request =
            ModelRequest { method: "POST", path: "/v1/messages", query: "", token: None, body };
        let status = answer(&request, &setting(&flavor)).reply.status;
        assert!(status == 400 || status == 200, "{status}");
    }
}

/// Returns a chat request with this script and one tool.
fn scripted(script: &str, name: &str, schema: &Value) -> Value {
    let text = format!("ahp-script: 1\n{script}");
    let function = json!({"name": name, "parameters": (schema.clone())});
    json!({
        "model": "m", "stream": true, "messages": [{"role": "user", "content": text}],
        "tools": [{"type": "function", "function": function}],
    })
}

#[test]
fn a_plan_goes_to_the_tool_that_takes_a_list_of_entries_with_a_status() {
    let entry = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
            "priority": {"type": "string", "enum": ["high", "low"]},
        },
    });
    let schema =
        json!({"type": "object", "properties": {"todos": {"type": "array", "items": entry}}});
    let body = scripted("tool plan \"x one\\ntwo\"", "any_name", &schema);
    let (_, said, record) = ask("/v1/chat/completions", "", &body);
    let call =
        record["says"].as_array().into_iter().flatten().find(|one| one.get("call").is_some());
    let arguments =
        call.map(|call| call["arguments"].clone()).unwrap_or_else(|| panic!("{said} {record:?}"));
    let expected = json!({"todos": [
        {"content": "one", "status": "completed", "priority": "high"},
        {"content": "two", "status": "pending", "priority": "high"},
    ]});
    assert_eq!(arguments, expected);
    let (_, said, _) = ask("/v1/chat/completions", "", &scripted("tool plan x", "bash", &shell()));
    assert!(said.contains("no tool that takes a plan"), "{said}");
}

#[test]
fn a_call_with_held_input_begins_before_its_input() {
    let flavor = ModelFlavor::named("plain").unwrap();
    for (path, family) in [
        ("/v1/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/messages", "messages"),
    ] {
        let body = conversation(family, 0, true).to_text().replace("confirm", "input-held");
        let request =
            ModelRequest { method: "POST", path, query: "", token: None, body: body.as_bytes() };
        let beats: Vec<ReplyBeat> = answer(&request, &setting(&flavor)).reply.collect();
        let held = beats.iter().position(|beat| *beat == ReplyBeat::Hold("input".to_owned()));
        let held = held.unwrap_or_else(|| panic!("{family}: {beats:?}"));
        let text = |beats: &[ReplyBeat]| format!("{beats:?}");
        let (before, after) = beats.split_at(held);
        let before = text(before).to_lowercase();
        assert!(before.contains("bash") && !before.contains("echo hi"), "{family}: {before}");
        assert!(text(after).contains("echo hi"), "{family}");
    }
}
