//! The official crate of one version as a subject: reads one question per line and answers it.
//!
//! The packages in the folders beside this file compile this file, each with its own version of the crate
//! `ahp`.

#[macro_use]
#[path = "src/wrapper.rs"]
mod wrapper;

crate_of!(linked ahp reducers_0_4 types_0_5);

fn main() -> std::io::Result<()> {
    wrapper::serve(linked::answer, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
