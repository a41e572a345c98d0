//! The official crate of one version as a subject: reads questions, a line each, and answers them.
//!
//! The packages in the folders beside this file compile it, each with its own `ahp`.

#[macro_use]
#[path = "src/wrapper.rs"]
mod wrapper;

crate_of!(linked ahp reducers_0_4 types_0_5);

fn main() -> std::io::Result<()> {
    wrapper::serve(linked::answer, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
