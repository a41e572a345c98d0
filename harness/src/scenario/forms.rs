//! What the members of a file and of its steps are: rows of a name, a form and a sentence.
//!
//! Knows: nothing. Never knows: which members there are.

/// What a member's value has to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MemberForm {
    /// The name of one client of the scenario.
    Client,
    /// One client or a list of them.
    Clients,
    /// A name that the step binds to what it got.
    Binds,
    /// A text without holes.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of texts, or one.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A number with a unit, such as `250ms`.
    Duration,
    /// A number of things.
    Count,
    /// Any value, with `${…}` filled in.
    Template,
    /// What a value has to look like.
    Pattern,
    /// A list of steps.
    Steps,
    /// A mapping of settings.
    Settings,
    /// Values by name, for a fragment.
    Values,
}

/// One member of a scenario or a step.
#[derive(Debug)]
pub struct FormField {
    /// Its key.
    pub name: &'static str,
    /// What its value has to be.
    pub form: MemberForm,
    /// Whether it has to be there.
    pub required: bool,
    /// Whether it makes the step an expectation that can fail.
    pub wants: bool,
    /// What it says.
    pub doc: &'static str,
}

/// A member that may be there.
pub(crate) const fn field(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { name, form, required: false, wants: false, doc }
}

/// A member that has to be there.
pub(crate) const fn needed(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { required: true, ..field(name, form, doc) }
}

/// A member that makes its step an expectation.
pub(crate) const fn wanted(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { wants: true, ..field(name, form, doc) }
}
