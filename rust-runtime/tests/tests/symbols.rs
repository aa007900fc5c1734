//! Which `write` a binary calls: the SDK's or the system's.

use object::{Object, ObjectSymbol};

fn defines(binary: &str, name: &str) -> bool {
    let bytes = std::fs::read(binary).unwrap();
    let binary = object::File::parse(&*bytes).unwrap();
    (binary.symbols()).any(|it| it.is_definition() && it.name() == Ok(name))
}

#[test]
fn programs_have_the_sdks_write_and_the_runtime_the_systems() {
    let runtime = env!("CARGO_BIN_EXE_burst-runtime-under-test");
    let program = env!("CARGO_BIN_EXE_burst-runtime-test-program");
    for name in ["write", "writev"] {
        assert!(!defines(runtime, name), "{name} of the runtime's own");
        assert!(defines(program, name), "no {name} of the SDK's");
    }
}
