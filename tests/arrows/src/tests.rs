use std::path::Path;

use crate::circles::circles;
use crate::{modules, page, poms};

/// The circles of a made-up library, given as file names and contents.
fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let source = |file: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == file);
        found.map(|(_, text)| (*text).to_owned())
    };
    circles(&modules::nodes(Path::new("lib.rs"), &source))
}

#[test]
fn a_cycle_lists_each_dependency() {
    let circles = found(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; pub fn b() { super::c::c() }"),
        (
            "c/mod.rs",
            "pub fn c() { println!(\"{}\", crate::a::A::NAME) }",
        ),
    ]);
    let arrows = [
        "a.rs → b.rs, by B",
        "b.rs → c/mod.rs, by super::c::c",
        "c/mod.rs → a.rs, by crate::a::A::NAME",
    ];
    assert_eq!(circles, [arrows]);
}

#[test]
fn reexported_names_are_followed_to_their_module() {
    let circles = found(&[
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a/mod.rs", "mod inner; pub use inner::*;"),
        (
            "a/inner.rs",
            "use crate::b; pub struct A; fn a() { b::b() }",
        ),
        ("b.rs", "pub fn b() { use crate::A as Other; Other::new() }"),
    ]);
    assert_eq!(circles.len(), 1);
    assert!(
        circles[0][0].starts_with("a/inner.rs → b.rs"),
        "{circles:?}"
    );
}

#[test]
fn a_module_and_its_submodules_may_depend_on_each_other() {
    let below = [
        ("lib.rs", "mod a; pub struct Top; fn top() { a::run() }"),
        (
            "a.rs",
            "mod b; mod c; use crate::Top; pub fn run() { b::b() }",
        ),
        ("a/b.rs", "use super::c::c; pub fn b() { c() }"),
        ("a/c.rs", "pub fn c() { super::run() }"),
    ];
    assert_eq!(found(&below), [[""; 0]; 0]);
}

#[test]
fn a_cycle_may_go_through_a_parent_module() {
    let circles = found(&[
        ("lib.rs", "mod a; mod c;"),
        ("a.rs", "mod b; pub struct A; fn a() { b::b() }"),
        ("a/b.rs", "pub fn b() { crate::c::c() }"),
        ("c.rs", "use crate::a::A; pub fn c() {}"),
    ]);
    assert_eq!(circles.len(), 1);
    assert_eq!(circles[0].len(), 3);
}

#[test]
fn reexports_tests_and_visibility_are_not_dependencies() {
    let none = [
        ("lib.rs", "mod a; mod c;"),
        (
            "a.rs",
            "mod b; pub use b::B; pub struct A; #[cfg(all(test, unix))] mod tests;",
        ),
        (
            "a/b.rs",
            "use crate::c::C; pub struct B(C); #[cfg(test)] mod tests { use crate::a::A; }",
        ),
        (
            "c.rs",
            "use crate::a::A; pub(crate) struct C; #[cfg(test)] fn c() { crate::a::B }",
        ),
    ];
    assert_eq!(found(&none), [[""; 0]; 0]);
}

#[test]
fn a_table_lists_folders_and_patterns() {
    let rows = page::rows(
        "# Page\n\n| crate or module | may depend on |\n| --- | --- |\n| `a`, `b/*` | `c` |\n| `c` | |\n\nEnd\n",
    );
    assert_eq!(rows.len(), 2);
    assert!(["a", "b/x"].iter().all(|folder| rows[0].has(folder)));
    assert!(
        ["b", "b/x/y", "c"]
            .iter()
            .all(|folder| !rows[0].has(folder))
    );
    assert_eq!(rows[0].entry("c"), Some("c"));
    assert_eq!(rows[1].entry("a"), None);
}

#[test]
fn a_pom_lists_modules_and_dependencies_except_test_scope() {
    let parent = "<project><modules><module>a</module><module>b</module></modules></project>";
    assert_eq!(poms::modules(parent), ["a", "b"]);
    let dependency = |group: &str, name: &str, more: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>{more}</dependency>"
        )
    };
    let dependencies = [
        dependency("io.burst", "a", ""),
        dependency("io.burst", "b", "<scope>test</scope>"),
        dependency("org.example", "c", "<version>1</version>"),
    ];
    let module = format!(
        "<project><dependencies>{}</dependencies></project>",
        dependencies.concat()
    );
    assert_eq!(poms::dependencies(&module), ["a"]);
    assert_eq!(poms::dependencies("<project/>"), [""; 0]);
}
