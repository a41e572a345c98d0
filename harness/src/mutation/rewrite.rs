//! What a legal rewrite is.
use crate::dice::Dice;
use super::capture::Capture;

/// One way to tell a conversation otherwise.
#[derive(Clone, Copy, Debug)]
pub struct LegalRewrite {
    /// Its name.
    pub name: &'static str,
    /// Why it is legal.
    pub legal: &'static str,
}
impl LegalRewrite {
    /// Applies it.
    pub fn apply(&self, _base: &Capture, _dice: &mut Dice) -> Option<Capture> { None }
}
