#!/bin/bash -eu
# Builds every fuzz target with its corpus. Variables are those of OSS-Fuzz's images.
cd "$SRC/ahp-harness/fuzz"
cargo fuzz build --release
host=$(rustc -vV | sed -n 's/^host: //p')
for target in $(cargo fuzz list); do
    # Those on the official crate are built on demand only.
    program="target/$host/release/$target"
    [ -x "$program" ] || continue
    cp "$program" "$OUT/"
    zip -jq "$OUT/${target}_seed_corpus.zip" "../corpus/$target"/*
done
