//! The actions of the annotations channel.

use super::{ReductionRow, upsert};
use crate::model::payload::PayloadShape;
use crate::model::{NoOp, annotations};

use super::ActionEffect::{RemoveFirst, Run};

#[rustfmt::skip]
pub(super) const ROWS: &[ReductionRow] = super::row_list! {
    Annotations V0_4 "annotations/set" upsert("annotations", "annotation", "id");
    Annotations V0_4 "annotations/updated"
        Run(|state, action| annotations::updated(state, action, ("turnId", PayloadShape::Text)));
    Annotations V0_9 "annotations/updated"
        Run(|state, action| annotations::updated(state, action, ("origin", PayloadShape::Object)));
    Annotations V0_4 "annotations/removed" RemoveFirst {
        list: "annotations", key: "id", by: "annotationId", missing: NoOp::UnknownAnnotation,
    };
    Annotations V0_4 "annotations/entrySet" Run(annotations::entry_set);
    Annotations V0_4 "annotations/entryRemoved" Run(annotations::entry_removed);
};
