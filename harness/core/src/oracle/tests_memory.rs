//! Tests of what the oracle judges once its memory is spent.

use super::OracleOptions;
use super::testkit::{play, state};

/// Subscribes two clients to chats with titles of 1 MiB. The second client receives another state of the chat `odd`.
fn checks_of_another_state(chats: usize, odd: usize) -> Vec<&'static str> {
    let long = "x".repeat(1 << 20);
    let sub = |who: &str, n: usize, differs: bool| {
        let mut state = state("chat");
        state["resource"] = format!("ahp-chat:/{n}").into();
        state["title"] = long.as_str().into();
        if differs {
            state["modifiedAt"] = "2026-01-01T00:00:00.001Z".into();
        }
        format!("{who} sub ahp-chat:/{n} 0 {state}\n")
    };
    let first = (0..chats).map(|n| sub("A", n, false));
    let second = (0..chats).map(|n| sub("B", n, n == odd));
    let actions = (0..chats).flat_map(|n| {
        ["A", "B"].map(|who| format!("{who} got ahp-chat:/{n} {} start t1\n", n + 1))
    });
    let hello = ["A hello 0\n", "B hello 0\n"].map(str::to_owned);
    let script: String = hello.into_iter().chain(first).chain(second).chain(actions).collect();
    play(OracleOptions::default(), &script).checks()
}

#[test]
fn states_with_room_are_compared() {
    assert_eq!(checks_of_another_state(5, 3), ["state.snapshot-agrees"]);
}

/// Only some twenty of the states have room, and `odd` is not among them.
#[test]
fn states_without_room_accuse_nobody() {
    assert!(checks_of_another_state(40, 39).is_empty());
}
