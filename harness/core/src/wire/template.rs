//! URI templates of RFC 6570, restricted to the part that the protocol uses: expressions of plain variables.
//!
//! A host names its telemetry channels by templates, for which the protocol defines the variable `level`. A
//! variable without a value expands to nothing. Modifiers (`:3`, `*`) are not supported: an expression with a
//! modifier stays unexpanded.
//!
//! Knows: no other module. Never knows: the meaning of variables.
//!
//! Start at [`expand`].

use super::percent;

/// The strings that an operator of a URI template puts before, between and after the values of the expression. Source:
/// RFC 6570, appendix A.
struct TemplateOperator {
    sign: char,
    first: &'static str,
    between: &'static str,
    named: bool,
    /// The string after a name whose value is empty.
    empty: &'static str,
    reserved: bool,
}

const fn operator(
    sign: char,
    first: &'static str,
    between: &'static str,
    named: bool,
    empty: &'static str,
    reserved: bool,
) -> TemplateOperator {
    TemplateOperator { sign, first, between, named, empty, reserved }
}

/// The operators of URI templates. The first row is for an expression without an operator.
const OPERATORS: &[TemplateOperator] = &[
    operator(' ', "", ",", false, "", false),
    operator('+', "", ",", false, "", true),
    operator('#', "#", ",", false, "", true),
    operator('.', ".", ".", false, "", false),
    operator('/', "/", "/", false, "", false),
    operator(';', ";", ";", true, "", false),
    operator('?', "?", "&", true, "=", false),
    operator('&', "&", "&", true, "=", false),
];

/// Returns whether a template has an expression with this variable.
pub fn uses(template: &str, variable: &str) -> bool {
    let probe = "x-probe";
    expand(template, &[(variable, probe)]) != expand(template, &[])
}

/// Returns a template with its variables expanded.
pub fn expand(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((expression, behind)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            continue;
        };
        match expanded(expression, values) {
            Some(filled) => text.push_str(&filled),
            None => text.extend(["{", expression, "}"]),
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

fn expanded(expression: &str, values: &[(&str, &str)]) -> Option<String> {
    let (plain, signed) = OPERATORS.split_first()?;
    let (row, names) = match signed.iter().find(|row| expression.starts_with(row.sign)) {
        Some(row) => (row, &expression[1..]),
        None => (plain, expression),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%');
    if names.is_empty() || !names.split(',').all(|name| name.chars().all(known)) {
        return None;
    }
    let mut text = String::new();
    for name in names.split(',') {
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        text.push_str(if text.is_empty() { row.first } else { row.between });
        if row.named {
            text.push_str(name);
            text.push_str(if value.is_empty() { row.empty } else { "=" });
        }
        let kept = if row.reserved { percent::RESERVED } else { percent::SEGMENT };
        text.push_str(&percent::escaped(value, kept));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        let values = [("level", "error"), ("x", "a b/c"), ("none", "")];
        assert_eq!(expand(template, &values), expected, "{template}");
    }

    // Checks the examples of RFC 6570, section 3.2, with other variables.
    #[test]
    fn expands_every_operator() {
        check("ahp-otlp://logs", "ahp-otlp://logs");
        check("ahp-otlp://logs{?level}", "ahp-otlp://logs?level=error");
        check("ahp-otlp://logs/{level}", "ahp-otlp://logs/error");
        check("ahp-otlp://logs{/level}", "ahp-otlp://logs/error");
        check("a?b=1{&level,unknown}", "a?b=1&level=error");
        check("a{;level,none}", "a;level=error;none");
        check("a{?none}", "a?none=");
        check("a{.level}{#level}", "a.error#error");
        check("{x}{+x}", "a%20b%2Fca%20b/c");
        check("{level,x}", "error,a%20b%2Fc");
        check("{?unknown}", "");
        check("{level:3}{level*}{", "{level:3}{level*}{");
    }

    #[test]
    fn lists_the_variables_of_a_template() {
        assert!(uses("ahp-otlp://logs{?level}", "level"));
        assert!(!uses("ahp-otlp://logs{?scope}", "level"));
        assert!(!uses("ahp-otlp://logs", "level"));
    }
}
