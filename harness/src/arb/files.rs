//! Chooses files for requests: usually existing files, in a folder that no other conversation uses.
//!
//! Knows: the files and folders created so far. Never knows: the requests.
//!
//! Start at [`file()`].

use crate::wire::json::{Value, json};

use super::draw::ConversationDraw;

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
pub fn file(draw: &mut ConversationDraw) -> Value {
    let uri = place(draw);
    let inside = uri.as_str().and_then(|uri| uri.strip_prefix(AREA));
    let common = inside.filter(|rest| !rest.contains("..") && !rest.contains("${dir}"));
    match common.map(|rest| format!("{OWN}{rest}")) {
        Some(own) if has_folder(draw) => json!(own),
        _ => uri,
    }
}

/// Creates the conversation's folder if the folder does not exist yet. Returns whether the folder exists.
pub fn has_folder(draw: &mut ConversationDraw) -> bool {
    if draw.stage().bindings().get("dir").is_some() {
        return true;
    }
    let Some(by) = draw.somebody() else { return false };
    let step = json!({"request": {
        "by": by, "method": "resourceMkdir", "params": {"uri": format!("{AREA}/${{new dir}}")},
    }});
    draw.put(step).is_some()
}

fn place(draw: &mut ConversationDraw) -> Value {
    const MAKES: [&str; 2] = ["resourceWrite", "resourceMkdir"];
    let asked = draw.steps.iter().filter_map(|step| step.get("request"));
    let made = asked.filter(|it| it["method"].as_str().is_some_and(|name| MAKES.contains(&name)));
    let made: Vec<Value> =
        made.filter(|it| it.get("error").is_none()).map(|it| it["params"]["uri"].clone()).collect();
    let there = draw.dice.pick(&made).filter(|_| draw.dice.clone().chance(75)).cloned();
    if let Some(there) = there.as_ref().and_then(Value::as_str) {
        // In some cases the file's folder is used instead of the file.
        let folder = there.rsplit_once('/').map_or(there, |(folder, _)| folder);
        return json!(if draw.dice.chance(20) { folder } else { there });
    }
    let focused: Vec<&str> = FILES.iter().copied().filter(|it| it.contains(draw.focus)).collect();
    let from = if draw.dice.chance(80) && !focused.is_empty() { focused.as_slice() } else { FILES };
    json!(draw.dice.pick(from))
}

/// Writes a few files, so that other requests have something to read.
pub fn prepare(draw: &mut ConversationDraw) -> Option<()> {
    has_folder(draw).then_some(())?;
    let by = draw.somebody()?;
    for name in ["one.txt", "two.txt"] {
        let params = json!({
            "uri": format!("{OWN}/{name}"), "data": format!("in {name}"), "encoding": "utf-8",
        });
        draw.put(json!({"request": {"by": by, "method": "resourceWrite", "params": params}}))?;
    }
    let params = json!({"uri": format!("{OWN}/w")});
    draw.put(json!({"request": {"by": by, "method": "resourceMkdir", "params": params}}))?;
    Some(())
}
