//! Code shared by the samples of `mutants --wire`, for hosts and for agents.

use ahp_harness::mutation::capture::MutableCapture;
use ahp_harness::mutation::operator::WireOperator;
use ahp_harness::mutation::rewrite::LegalRewrite;
use ahp_harness::mutation::table;
use ahp_harness::mutation::trial::WireTrial;

use super::priority;

/// Runs the same work on every core.
pub fn on_all_cores(work: &(dyn Fn() + Sync)) {
    priority::lower();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
}

/// Checks that legal rewrites of captures, `count` of each kind, cause no finding above a note.
pub fn expect_no_accusation(
    captures: Vec<MutableCapture>,
    rewrites: &[&'static LegalRewrite],
    count: usize,
) {
    let trial = WireTrial::new(captures, 1, count);
    let results = trial.rewrite(rewrites, &|_, _| {}, &on_all_cores);
    let rewritten: usize = results.iter().map(|result| result.rewritten).sum();
    assert!(rewritten >= 200, "{rewritten}");
    let accused: usize = results.iter().map(|result| result.accused.len()).sum();
    assert_eq!(accused, 0, "{}", table::of_rewrites(&results));
}

/// Checks that the mutants depend only on the seed.
pub fn expect_mutants_by_seed(captures: &[MutableCapture], operators: &[&'static WireOperator]) {
    let mutants = |seed| {
        let trial = WireTrial::new(captures.to_vec(), seed, 1);
        let results = trial.mutate(operators, &|_, _| {}, &on_all_cores);
        let all = results.into_iter().flat_map(|result| result.mutants);
        all.map(|mutant| (mutant.capture, mutant.line, mutant.what)).collect::<Vec<_>>()
    };
    assert_eq!(mutants(5), mutants(5));
    assert_ne!(mutants(5), mutants(6));
}
