//! Chooses files for requests: usually existing files, in a folder that no other conversation uses.
//!
//! Knows: the files and folders created so far. Never knows: the requests.
//!
//! Start at [`file()`].

use crate::wire::json::{Value, json};

use super::builder::ConversationBuilder;

/// The files that conversations write, read and watch. Some files are outside of `AREA`; two files need a request for
/// access.
pub const FILES: &[&str] = &[
    "file:///harness/one.txt",
    "file:///harness/one.txt",
    "file:///harness/two.txt",
    "file:///harness/w",
    "file:///harness/w",
    "file:///harness/w/a.txt",
    "file:///harness/w/a.log",
    "file:///harness/w/deep/b.txt",
    "file:///harness/../outside/canary.txt",
    "file:///harness/w/../../outside/canary.txt",
    "file:///asked/one",
    "file:///asked/one",
    "file:///asked/two",
    "file:///asked",
    "https://example.com/x",
];

/// The folder that all conversations share.
const AREA: &str = "file:///harness";
/// The folder of this conversation.
pub const OWN: &str = "file:///harness/${dir}";

/// Returns a file or a folder: usually an existing file in this conversation's own folder.
pub fn file(builder: &mut ConversationBuilder) -> Value {
    let uri = place(builder);
    let inside = uri.as_str().and_then(|uri| uri.strip_prefix(AREA));
    let common = inside.filter(|rest| !rest.contains("..") && !rest.contains("${dir}"));
    match common.map(|rest| format!("{OWN}{rest}")) {
        Some(own) if has_folder(builder) => json!(own),
        _ => uri,
    }
}

/// Creates the conversation's folder if the folder does not exist yet. Returns whether the folder exists.
pub fn has_folder(builder: &mut ConversationBuilder) -> bool {
    if builder.stage().bindings().get("dir").is_some() {
        return true;
    }
    let Some(by) = builder.somebody() else { return false };
    let step = json!({"request": {
        "by": by, "method": "resourceMkdir", "params": {"uri": format!("{AREA}/${{new dir}}")},
    }});
    builder.put(step).is_some()
}

fn place(builder: &mut ConversationBuilder) -> Value {
    const MAKES: [&str; 2] = ["resourceWrite", "resourceMkdir"];
    let asked = builder.steps.iter().filter_map(|step| step.get("request"));
    let made = asked.filter(|it| it["method"].as_str().is_some_and(|name| MAKES.contains(&name)));
    let made: Vec<Value> =
        made.filter(|it| it.get("error").is_none()).map(|it| it["params"]["uri"].clone()).collect();
    let there = builder.dice.pick(&made).filter(|_| builder.dice.clone().chance(75)).cloned();
    if let Some(there) = there.as_ref().and_then(Value::as_str) {
        // In some cases the file's folder is used instead of the file.
        let folder = there.rsplit_once('/').map_or(there, |(folder, _)| folder);
        return json!(if builder.dice.chance(20) { folder } else { there });
    }
    let focused: Vec<&str> =
        FILES.iter().copied().filter(|it| it.contains(builder.focus)).collect();
    let from =
        if builder.dice.chance(80) && !focused.is_empty() { focused.as_slice() } else { FILES };
    json!(builder.dice.pick(from))
}

/// Writes a few files, so that other requests have something to read.
pub fn prepare(builder: &mut ConversationBuilder) -> Option<()> {
    has_folder(builder).then_some(())?;
    let by = builder.somebody()?;
    for name in ["one.txt", "two.txt"] {
        let params = json!({
            "uri": format!("{OWN}/{name}"), "data": format!("in {name}"), "encoding": "utf-8",
        });
        builder.put(json!({"request": {"by": by, "method": "resourceWrite", "params": params}}))?;
    }
    let params = json!({"uri": format!("{OWN}/w")});
    builder.put(json!({"request": {"by": by, "method": "resourceMkdir", "params": params}}))?;
    Some(())
}
