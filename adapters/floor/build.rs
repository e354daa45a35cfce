//! Declares `--cfg loom`, which swaps the atomics for model-checked ones.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rerun-if-changed=build.rs");
}
