//! The Rust code of the README and of the book, compiled and run as documentation tests.

macro_rules! pages {
    ($($page:ident = $path:literal,)*) => {
        $(#[doc = include_str!(concat!("../../../", $path))] mod $page {})*
    };
}

pages! {
    readme = "README.md",
    first_flare = "docs/tutorial/first-flare.md",
    talking = "docs/tutorial/talking.md",
    map_reduce = "docs/tutorial/map-reduce.md",
    data = "docs/guide/data.md",
    variables = "docs/guide/variables.md",
    collectives = "docs/guide/collectives.md",
    groups = "docs/guide/groups.md",
    failures = "docs/guide/failures.md",
    traces = "docs/operations/traces.md",
}
