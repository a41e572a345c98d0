//! The actions of the changeset channel.

use super::{ReductionRow, assigned, upsert};
use crate::model::payload::PayloadShape;
use crate::model::{NoOp, changeset};

use super::ActionEffect::{RemoveFirst, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Changeset V0_2 "changeset/statusChanged" Run(changeset::status_changed);
    Changeset V0_2 "changeset/fileSet" upsert("files", "file", "id");
    Changeset V0_2 "changeset/fileRemoved" RemoveFirst {
        list: "files", key: "id", by: "fileId", missing: NoOp::UnknownFile,
    };
    Changeset V0_2 "changeset/operationsChanged" assigned("operations", PayloadShape::List);
    Changeset V0_2 "changeset/cleared" Run(changeset::cleared);
    Changeset V0_3 "changeset/operationStatusChanged" Run(changeset::operation_status_changed);
    Changeset V0_4 "changeset/contentChanged" Run(changeset::content_changed_with_error);
    Changeset V0_9 "changeset/contentChanged" Run(changeset::content_changed);
    Changeset V0_5_2 .. V0_6 "changeset/filesReviewedChanged"
        Run(|state, action| changeset::files_reviewed(state, action, "fileIds"));
    Changeset V0_6 "changeset/filesReviewChanged"
        Run(|state, action| changeset::files_reviewed(state, action, "files"));
};
