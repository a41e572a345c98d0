//! Descriptions of the defects that cause the disagreements between a subject (a tested reducer) and the harness, for
//! the subject's maintainer.
//!
//! ```yaml
//! subject: The crate `ahp` that speaks {spec}
//! defects:
//!   - id: queue-order
//!     title: Reordering the queue sorts what is not mentioned
//!     what: Messages whose ids are not in `order` are appended sorted by id.
//!     decides: "The action's definition: all others in their original order."
//!     means: Two clients that show the same queue show different orders.
//!     remedy: Keep the leftovers as a list.
//!     keys: ["outcome *"]   # optional, for disagreements without a baseline entry: warnings
//! ```
//!
//! A disagreement belongs to the defect whose identifier is the prefix of its reason in the baseline (`reason:
//! "queue-order: .."`), or else to the first defect that lists its key in `keys`.
//!
//! Knows: findings. Never knows: files, the presentation of defects.
//!
//! Start at [`SubjectDefects::behind`].

use super::report::SubjectFinding;
use crate::scenario::listing::{ListingForm, needed, read_list, text};
use crate::scenario::node::SourceNode;
use crate::wire::version::Version;

/// The defects of a subject.
#[derive(Clone, Debug, Default)]
pub struct SubjectDefects {
    subject: Option<String>,
    /// The defects, in the order of the file.
    pub all: Vec<SubjectDefect>,
}

/// One defect. All descriptions are Markdown of one paragraph.
#[derive(Clone, Debug)]
pub struct SubjectDefect {
    /// The identifier of the defect. If the defect causes a difference in a baseline, the reason there begins with this
    /// identifier.
    pub id: String,
    /// The title of the defect, on one line.
    pub title: String,
    /// The description of the defect.
    pub what: String,
    /// The part of the specification, or another source, that proves that the behaviour is a defect.
    pub decides: String,
    /// The consequence of the defect for users.
    pub means: String,
    /// The proposed fix of the defect.
    pub remedy: String,
    /// The keys of disagreements that belong to the defect although no reason in a baseline names it. A key that ends
    /// with `*` matches all keys with this prefix.
    keys: Vec<String>,
}

const FORM: ListingForm = ListingForm {
    what: "a file of defects",
    list: "defects",
    beside: &["subject"],
    entry: &["id", "title", "what", "decides", "means", "remedy", "keys"],
};

impl SubjectDefects {
    /// Parses a file of defects.
    ///
    /// # Errors
    /// Returns all mistakes in the file, one per line, with the place of each.
    pub fn parse(name: &str, source: &str) -> Result<SubjectDefects, String> {
        let mut all: Vec<SubjectDefect> = Vec::new();
        let root = read_list(name, source, &FORM, &mut |entry| {
            let defect = SubjectDefect::read(entry)?;
            if all.iter().any(|other| other.id == defect.id) {
                return Err(format!("`{}` is given twice", defect.id));
            }
            all.push(defect);
            Ok(())
        })?;
        Ok(SubjectDefects { subject: text(&root, "subject").map(str::to_owned), all })
    }

    /// Returns the name of the subject that speaks a version; `None` if the file states no name.
    pub fn subject(&self, version: Version) -> Option<String> {
        let subject = self.subject.as_ref()?;
        Some(subject.replace("{spec}", &version.to_string()))
    }

    /// Returns the defect that causes a disagreement; `None` if the file describes no such defect.
    pub fn behind(&self, finding: &SubjectFinding) -> Option<&SubjectDefect> {
        let reason = finding.known.as_deref().unwrap_or_default();
        let named = reason.split_once(':').map(|(id, _)| id);
        let matches = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => finding.key.starts_with(beginning),
            None => finding.key == *pattern,
        };
        let by_reason = self.all.iter().find(|defect| Some(defect.id.as_str()) == named);
        by_reason.or_else(|| self.all.iter().find(|defect| defect.keys.iter().any(matches)))
    }
}

impl SubjectDefect {
    fn read(entry: &SourceNode) -> Result<SubjectDefect, String> {
        let words = |key: &str, why: &str| needed(entry, key, why).map(str::to_owned);
        let keys = match entry.get("keys") {
            None => Vec::new(),
            Some(keys) => {
                let texts = keys.as_list().unwrap_or_default().iter().map(SourceNode::as_str);
                let texts: Option<Vec<&str>> = texts.collect();
                let texts = texts.filter(|texts| !texts.is_empty());
                let texts = texts.ok_or("expected a list of strings at `keys`")?;
                texts.into_iter().map(str::to_owned).collect()
            }
        };
        Ok(SubjectDefect {
            id: words("id", "the name that reasons of baselines begin with")?,
            title: words("title", "the defect, in one line")?,
            what: words("what", "what is wrong")?,
            decides: words("decides", "the source that shows the defect")?,
            means: words("means", "the effect on users")?,
            remedy: words("remedy", "a way to fix it")?,
            keys,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_with_it() {
        let check = |text: &str, expected: &str| {
            let error = SubjectDefects::parse("d.yaml", text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        let whole = "{ id: a, title: t, what: w, decides: d, means: m, remedy: r }";
        check("defect: []", "d.yaml:1:1: a file of defects has no `defect`");
        check("subject: x", "expected `defects:` with a list of entries");
        check("defects: [{ id: a }]", "d.yaml:1:11: expected `title`: the defect, in one line");
        check(&format!("defects:\n  - {whole}\n  - {whole}"), "d.yaml:3:5: `a` is given twice");
        check(&format!("defects: [{}]", whole.replace("id", "di")), "an entry has no `di`");
        let keys = whole.replace(" }", ", keys: [] }");
        check(&format!("defects: [{keys}]"), "expected a list of strings at `keys`");
        let read =
            SubjectDefects::parse("d.yaml", &format!("subject: v{{spec}}\ndefects: [{whole}]"));
        assert_eq!(read.unwrap().subject(Version::V0_5).as_deref(), Some("v0.5.0"));
    }
}
