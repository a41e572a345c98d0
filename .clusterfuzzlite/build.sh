#!/bin/bash -eu
# Builds every fuzz target with its corpus. Variables are those of OSS-Fuzz's images.
cd "$SRC/ahp-harness/fuzz"
# The folder is named: a member of a workspace would be built beside the others.
cargo fuzz build --release --target-dir target
host=$(rustc -vV | sed -n 's/^host: //p')
copied=0
for target in $(cargo fuzz list); do
    # Those on the official crate are built on demand only.
    program="target/$host/release/$target"
    [ -x "$program" ] || continue
    cp "$program" "$OUT/"
    zip -jq "$OUT/${target}_seed_corpus.zip" "../corpus/$target"/*
    copied=$((copied + 1))
done
echo "$copied targets"
[ "$copied" -gt 0 ]
