//! Canvases: pages that an extension displays outside of the host. Each canvas is a channel, and the chat of
//! the canvas lists it.
//!
//! A canvas has an address only while its extension displays it. After a crash the host no longer has the
//! address.
//!
//! Knows: chats. Never knows: the content of pages.
//!
//! Start at [`RefHost::show_canvas`].

use crate::wire::channel::ChannelKind;
use crate::wire::feature::ProtocolFeature;
use crate::wire::json::{Value, json};

use super::engine::RefHost;
use super::telemetry::INFO;

/// The maximum number of canvases of a chat.
const MAX_CANVASES: usize = 100;
/// The text of the log record for a canvas that is shown.
pub(super) const SHOWN: &str = "a canvas is shown";
/// The extension that displays the canvases of this host.
const EXTENSION: &str = "scripted";

impl RefHost {
    /// Shows a canvas of a chat at an address. Without `url`, the extension has closed the canvas.
    pub(super) fn show_canvas(&mut self, chat: &str, name: &str, url: Option<&str>) {
        if !self.protocol.has(ProtocolFeature::Canvases) {
            return;
        }
        let told = match url {
            Some(_) => SHOWN,
            None => "a canvas is no longer shown",
        };
        let known = self.canvases_of(chat);
        let uri = known.iter().find(|uri| self.state(uri)["canvasId"] == name).cloned();
        match uri {
            Some(uri) => self.change_canvas(&uri, url),
            None if known.len() < MAX_CANVASES => self.add_canvas(chat, known, name, url),
            None => {}
        }
        self.log_of(chat, INFO, told);
    }

    fn change_canvas(&mut self, uri: &str, url: Option<&str>) {
        let mut canvas = self.state(uri).clone();
        match url {
            Some(url) => canvas["url"] = json!(url),
            None => take_url(&mut canvas),
        }
        self.publish(uri, json!({"type": "canvas/stateChanged", "canvas": canvas}));
    }

    fn add_canvas(&mut self, chat: &str, mut known: Vec<String>, name: &str, url: Option<&str>) {
        let id = self.fresh_id("canvas");
        let uri = format!("ahp-canvas:/{id}");
        let mut state = json!({
            "instanceId": id, "extensionId": EXTENSION, "canvasId": name, "title": name,
        });
        if let Some(url) = url {
            state["url"] = json!(url);
        }
        self.add_channel(&uri, ChannelKind::Canvas, state);
        known.push(uri);
        let list: Value = known.iter().map(|uri| json!({"resource": uri})).collect();
        self.publish(chat, json!({"type": "chat/canvasesChanged", "canvases": list}));
    }

    /// Returns the URIs of the canvases of a chat.
    pub(super) fn canvases_of(&self, chat: &str) -> Vec<String> {
        let list = self.state(chat)["canvases"].as_array().into_iter().flatten();
        list.filter_map(|entry| entry["resource"].as_str().map(str::to_owned)).collect()
    }

    /// Removes the canvases of a chat.
    pub(super) fn drop_canvases(&mut self, chat: &str) {
        self.canvases_of(chat).iter().for_each(|uri| self.drop_channel(uri));
    }

    /// Removes the addresses of all canvases after a crash, since no extension displays them any more.
    pub(super) fn end_canvases(&mut self) {
        self.channels.change_all(Some(ChannelKind::Canvas), take_url);
    }
}

fn take_url(canvas: &mut Value) {
    if let Some(members) = canvas.as_object_mut() {
        members.remove("url");
    }
}
