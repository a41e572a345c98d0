//! Defines the forms of members of a scenario file and of its steps: each row has a name, a form and a
//! description.
//!
//! Knows: no other module. Never knows: the set of members.

/// The form that the value of a member must have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MemberForm {
    /// The name of one client of the scenario.
    Client,
    /// One client or a list of clients.
    Clients,
    /// A name to which the step binds its result.
    Binds,
    /// A string without placeholders.
    Text,
    /// One of the listed strings.
    OneOf(&'static [&'static str]),
    /// One string or a list of strings.
    Texts,
    /// The type of an action.
    ActionType,
    /// The name of a method.
    Method,
    /// The identifiers of one or several requirements.
    Requirements,
    /// `true` or `false`.
    Flag,
    /// A number with a unit, such as `250ms`.
    Duration,
    /// An unsigned integer.
    Count,
    /// Any value, in which the placeholders `${…}` are filled in.
    Template,
    /// An action, in which the placeholders `${…}` are filled in.
    Action,
    /// A pattern that a value must match.
    Pattern,
    /// A list of steps.
    Steps,
    /// A mapping of settings.
    Settings,
    /// Named values that an `include` passes to its fragment.
    Values,
}

/// One member of a scenario or a step.
#[derive(Debug)]
pub struct FormField {
    /// The key of the member.
    pub name: &'static str,
    /// The form of the member's value.
    pub form: MemberForm,
    /// Whether the member is required.
    pub required: bool,
    /// Whether the member makes its step an expectation that can fail.
    pub wants: bool,
    /// The description for users.
    pub doc: &'static str,
}

impl FormField {
    /// Returns whether the member names clients.
    pub fn is_of_clients(&self) -> bool {
        matches!(self.form, MemberForm::Client | MemberForm::Clients)
    }
}

/// Makes an optional member.
pub(crate) const fn field(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { name, form, required: false, wants: false, doc }
}

/// Makes a required member.
pub(crate) const fn needed(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { required: true, ..field(name, form, doc) }
}

/// Makes a member that turns its step into an expectation.
pub(crate) const fn wanted(name: &'static str, form: MemberForm, doc: &'static str) -> FormField {
    FormField { wants: true, ..field(name, form, doc) }
}
