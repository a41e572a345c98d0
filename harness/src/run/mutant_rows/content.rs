//! What the faults must trip that are about content: annotations, files and the watches on them,
//! changesets.

use crate::host::fault::Fault;

use super::super::mutants::Row;
use super::row;

pub(super) const ROWS: &[Row] = &[
    row(Fault::CountsStuck, &["annotations.counts", "annotations/a-session-counts-them"]),
    row(
        Fault::AcceptsEmptyAnnotations,
        &["annotations.sound", "annotations/each-has-something-to-say"],
    ),
    row(
        Fault::AcceptsLastEntryRemoval,
        &["annotations.sound", "annotations/each-has-something-to-say"],
    ),
    row(Fault::AnnotationsOutlive, &["annotations/they-go-with-their-session"]),
    row(Fault::RangeDropped, &["state.snapshot-agrees", "annotations/everybody-may-write-them"]),
    row(
        Fault::PathsEscape,
        &["resources/nothing-outside-is-reached", "resources/nothing-outside-is-changed"],
    ),
    row(
        Fault::OverwritesAlways,
        &[
            "resources/what-is-not-there-is-written-or-refused",
            "resources/what-was-not-to-be-replaced-stays",
            "resources/written-at-once",
        ],
    ),
    row(Fault::FoldersGoWhole, &["resources/files-come-and-go"]),
    row(
        Fault::BytesReadAsText,
        &["resources/what-stands-on-the-disk-is-read", "resources/files-come-and-go"],
    ),
    row(Fault::EmptyBatches, &["watch.batch", "watches/filters-hold"]),
    row(
        Fault::WatchLeaks,
        &["watch.below-root", "watches/filters-hold", "watches/changes-below-are-told"],
    ),
    row(Fault::WatchMisdescribed, &["watch.descriptor", "watches/changes-below-are-told"]),
    row(Fault::WatchShallow, &["watches/changes-below-are-told", "watches/filters-hold"]),
    row(Fault::FiltersIgnored, &["watches/filters-hold"]),
    row(Fault::ErrorBesideReady, &["changeset.error", "changesets/an-edit-shows"]),
    row(Fault::ChangedFileTwice, &["changeset.unique-ids", "changesets/*"]),
    row(
        Fault::ClearedToRecompute,
        &["changeset.kept-while-recomputing", "changesets/reviews-are-shared"],
    ),
    row(Fault::ReviewsUnoffered, &["changeset.review-offered", "changesets/reviews-are-shared"]),
    row(Fault::ReviewKept, &["changesets/reviews-are-shared"]),
    row(Fault::ChangesUncounted, &["changesets/an-edit-shows"]),
    row(Fault::ChangesetsOutlive, &["changesets/they-go-with-their-session"]),
    row(Fault::DisabledRuns, &["changesets/operations-run-where-they-fit"]),
    row(Fault::ScopesIgnored, &["changesets/operations-run-where-they-fit"]),
    row(Fault::OperationNeverEnds, &["changesets/operations-run-where-they-fit"]),
    row(Fault::WatchOutlives, &["watches/released-with-the-last-to-listen"]),
];
