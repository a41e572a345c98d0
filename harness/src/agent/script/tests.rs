//! Tests of valid and invalid scripts.

use super::*;

#[test]
fn reads_and_writes_every_step() {
    //  what is read      what is written back, where it differs
    let check = |line: &str, written: &str| {
        let text = format!("Please.\n{HEADER}\n{line}\n\nThank you.");
        let script = find(&text).unwrap().unwrap();
        assert_eq!(script.to_string(), format!("{HEADER}\n{written}"));
        assert_eq!(find(&script.to_string()), Some(Ok(script)));
    };
    check(r#"say a "b c""#, r#"say "a" "b c""#);
    check(r#"think "a\n\"b\\""#, r#"think "a\n\"b\\""#);
    check(r#"tool shell "echo hi" confirm"#, r#"tool shell "echo hi" confirm"#);
    check("tool client t x fails deny-means-continue", r#"tool client "t" "x" fails"#);
    check(
        "tool mcp t x confirm-result reconfirm deny-ends-turn",
        r#"tool mcp "t" "x" confirm-result reconfirm deny-ends-turn"#,
    );
    check(
        "parallel\ntool read a\n  tool write b\nend",
        "parallel\n  tool read \"a\"\n  tool write \"b\"\nend",
    );
    check(r#"ask "Which?" main dev"#, r#"ask "Which?" "main" "dev""#);
    check(r#"ask "Name?""#, r#"ask "Name?""#);
    check("ask-multi-select Which? a b", r#"ask-multi-select "Which?" "a" "b""#);
    check("ask-number Many?", r#"ask-number "Many?""#);
    check("ask-boolean Sure?", r#"ask-boolean "Sure?""#);
    check("ask-url Sign. https://x.example", r#"ask-url "Sign." "https://x.example""#);
    check("wait 2s", "wait 2000ms");
    check("hold go", r#"hold "go""#);
    check("usage 1 2", "usage 1 2");
    check("title T", r#"title "T""#);
    check("fail rate-limit resumable", r#"fail "rate-limit" resumable"#);
    check("# nothing\nendless", "endless");
    check("recall tulip crocus", r#"recall "tulip" "crocus""#);
    check(r#"activity """#, r#"activity """#);
    check("background ls 50ms", r#"background "ls" 50ms"#);
    check("canvas map https://x.example", r#"canvas "map" "https://x.example""#);
    check("canvas map", r#"canvas "map""#);
    check(
        "tool worker \"say a\\nsay b\" by-reference",
        r#"tool worker "say a\nsay b" by-reference"#,
    );
    check("crash", "crash");
    check(r#"act chat/usage  {"usage": {}}"#, r#"act chat/usage {"usage": {}}"#);
    check("act session/ready", "act session/ready {}");
}

#[test]
fn names_line_and_mistake() {
    let check = |script: &str, line: usize, what: &str| {
        let error = find(script).unwrap().unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    check("ahp-script: 2", 1, "version `2`");
    check("Hi.\nahp-script: 1", 2, "a step after");
    check("ahp-script: 1\nsing", 2, "found `sing`");
    check("ahp-script: 1\nsay", 2, "a text after `say`");
    check("ahp-script: 1\ntool shell ls now", 2, "found `now`");
    check("ahp-script: 1\ntool oven x", 2, "found `oven`");
    check("ahp-script: 1\nask-multi-select Q", 2, "an option after `Q`");
    check("ahp-script: 1\nask-url Q", 2, "an address after `Q`");
    check("ahp-script: 1\nask-number Q a", 2, "found `a`");
    check("ahp-script: 1\nwait 50", 2, "`50ms`");
    check("ahp-script: 1\nwait 9999s", 2, "ten minutes");
    check("ahp-script: 1\nusage 1 x", 2, "found `x`");
    check("ahp-script: 1\nhold a b", 2, "found `b`");
    check("ahp-script: 1\nact chat/usage [1]", 2, "a JSON object after `act chat/usage`");
    check("ahp-script: 1\nsay \"a", 2, "closing");
    check("ahp-script: 1\nparallel\nsay a\nend", 3, "another step");
    check("ahp-script: 1\nparallel", 2, "the end of the script");
    check("ahp-script: 1\nend", 2, "without `parallel`");
    assert_eq!(find("no script: 1"), None);
    let twice = format!("Hi.\n{HEADER}\nsay a\n\n<x>{HEADER}\nsay b\n</x>");
    assert_eq!(latest(&twice), format!("<x>{HEADER}\nsay b\n</x>"));
    let once = format!("Hi.\n{HEADER}\nsay a");
    assert_eq!(latest(&once), once);
}

#[test]
fn lists_the_extras_of_a_script() {
    let check = |lines: &str, extras: &[&str]| {
        let script = find(&format!("{HEADER}\n{lines}")).unwrap().unwrap();
        assert_eq!(script.extras().collect::<Vec<_>>(), extras, "{lines}");
    };
    check("say a\ntool shell ls confirm", &[]);
    check("recall a\ncanvas b\ncrash", &["recall", "canvas", "crash"]);
    check(
        "parallel\ntool worker \"\"\ntool shell ls by-reference\nend",
        &["worker", "by-reference"],
    );
    check("activity a\nbackground ls 1s", &["activity", "background"]);
}

#[test]
fn recalls_words_of_the_context_and_not_of_the_question() {
    let words = ["tulip", "rose"].map(str::to_owned);
    let check = |given: &[&str], answer: &str| assert_eq!(recalled(&words, given), answer);
    check(&["Remember the tulip."], "tulip: known\nrose: unknown");
    check(&["  recall tulip rose\nrose: unknown"], "tulip: unknown\nrose: unknown");
    check(&["a", "a rose\nis"], "tulip: unknown\nrose: known");
}
