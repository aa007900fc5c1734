//! Ids of flares and groups, which users can abbreviate to a prefix.

use std::collections::BTreeSet;

use burst_client::{
    Answer, Client, Error as ApiError, ListAllFlaresQuery, ListAllGroupsQuery, ListFlaresQuery,
    ListGroupsQuery,
};
use serde::de::DeserializeOwned;

use crate::args::IdArgs;
use crate::error::Error;

/// Number of hexadecimal digits of an id.
const LENGTH: usize = 32;
/// Shortest prefix: too many ids can share a shorter one.
const SHORTEST: usize = 4;
/// Number of an id's digits that tables show.
const SHOWN: usize = 12;
/// The longest page that the API lists.
const PAGE: u32 = 200;
/// A prefix is only looked for among this many of the newest.
const NEWEST: u32 = 2000;

/// Returns the id of the flare that is named by its id, by a prefix of that, or as the newest.
pub fn flare(client: &Client, args: &IdArgs) -> Result<String, Error> {
    let list = |limit, skip| {
        let page = ListFlaresQuery {
            limit: Some(limit),
            skip: Some(skip).filter(|skip| *skip > 0),
            ..ListFlaresQuery::default()
        };
        ids(client.list_flares(&page), |flare| flare.flare_id)
    };
    match &args.id {
        Some(id) => complete(FLARE, id, list),
        None => list(1, 0)?
            .pop()
            .ok_or_else(|| Error::NotFound("there is no flare yet".into())),
    }
}

/// Returns the id of the group that is named by its id or a prefix.
pub fn group(client: &Client, given: &str) -> Result<String, Error> {
    complete(GROUP, given, |limit, skip| {
        let page = ListGroupsQuery {
            limit: Some(limit),
            skip: Some(skip).filter(|skip| *skip > 0),
            ..ListGroupsQuery::default()
        };
        ids(client.list_groups(&page), |group| group.group_id)
    })
}

/// Does the same for a flare of any namespace.
pub fn any_flare(client: &Client, given: &str) -> Result<String, Error> {
    complete(ANY_FLARE, given, |limit, skip| {
        let page = ListAllFlaresQuery {
            limit: Some(limit),
            skip: Some(skip).filter(|skip| *skip > 0),
            ..ListAllFlaresQuery::default()
        };
        ids(client.list_all_flares(&page), |flare| flare.flare_id)
    })
}

/// Does the same for a group of any namespace.
pub fn any_group(client: &Client, given: &str) -> Result<String, Error> {
    complete(ANY_GROUP, given, |limit, skip| {
        let page = ListAllGroupsQuery {
            limit: Some(limit),
            skip: Some(skip).filter(|skip| *skip > 0),
            ..ListAllGroupsQuery::default()
        };
        ids(client.list_all_groups(&page), |group| group.group_id)
    })
}

/// A kind of thing with ids, and the command that lists them.
struct Identified {
    kind: &'static str,
    listed_by: &'static str,
}

const FLARE: Identified = Identified {
    kind: "flare",
    listed_by: "burst flares",
};
const GROUP: Identified = Identified {
    kind: "group",
    listed_by: "burst group list",
};
const ANY_FLARE: Identified = Identified {
    kind: "flare",
    listed_by: "burst admin flare list",
};
const ANY_GROUP: Identified = Identified {
    kind: "group",
    listed_by: "burst admin group list",
};

/// Returns as much of an id as people need to tell it from others.
pub fn short(id: &str) -> &str {
    id.get(..SHOWN).unwrap_or(id)
}

fn ids<T: DeserializeOwned>(
    listed: Result<Answer<Vec<T>>, ApiError>,
    id: impl Fn(T) -> String,
) -> Result<Vec<String>, Error> {
    Ok(listed?.read()?.into_iter().map(id).collect())
}

/// Returns the only id among the newest that begins with `given`.
fn complete(
    Identified { kind, listed_by }: Identified,
    given: &str,
    list: impl Fn(u32, u32) -> Result<Vec<String>, Error>,
) -> Result<String, Error> {
    let is_hexadecimal = given.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hexadecimal || !(1..=LENGTH).contains(&given.len()) {
        return Err(Error::NoId {
            given: given.to_owned(),
            kind,
            listed_by,
            shortest: SHORTEST,
            length: LENGTH,
        });
    }
    let given = given.to_ascii_lowercase();
    if given.len() == LENGTH {
        return Ok(given);
    }
    if given.len() < SHORTEST {
        return Err(Error::ShortId {
            given,
            kind,
            shortest: SHORTEST,
            length: LENGTH,
        });
    }
    // A set, because new entries shift the others, so that an id can appear on two pages.
    let mut found = BTreeSet::new();
    for skip in (0..NEWEST).step_by(PAGE as usize) {
        let page = list(PAGE, skip)?;
        let is_last = page.len() < PAGE as usize;
        found.extend(page.into_iter().filter(|id| id.starts_with(&given)));
        if is_last || found.len() > 1 {
            break;
        }
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(one), Some(other)) => Err(Error::Usage(format!(
            "{given} is ambiguous: the {kind}s {one} and {other} begin with it, and perhaps others; \
             give more of the id"
        ))),
        (None, _) => Err(Error::NotFound(format!(
            "no {kind} among the newest {NEWEST} begins with {given}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;

    use super::*;

    fn id(number: u32) -> String {
        format!("{number:08x}{:024x}", 0)
    }

    /// Completes an id among `total` ids; also returns how many pages were requested.
    fn among(total: u32, given: &str) -> (Result<String, Error>, u32) {
        let pages = Cell::new(0);
        let found = complete(FLARE, given, |limit, skip| {
            pages.set(pages.get() + 1);
            Ok((skip..total.min(skip + limit)).map(id).collect())
        });
        (found, pages.get())
    }

    #[test]
    fn a_unique_prefix_is_resolved() {
        assert_eq!(among(10, "00000007").0.unwrap(), id(7));
        let (found, pages) = among(500, "00000190");
        assert_eq!((found.unwrap(), pages), (id(400), 3));
    }

    #[test]
    fn ambiguous_and_unknown_prefixes_are_refused() {
        let (found, pages) = among(500, "0000");
        let error = found.unwrap_err();
        assert!(
            error.to_string().starts_with("0000 is ambiguous"),
            "{error}"
        );
        assert_eq!((error.exit_code(), pages), (2, 1));
        let (found, pages) = among(100_000, "ffff");
        let error = found.unwrap_err();
        assert_eq!(
            error.to_string(),
            "no flare among the newest 2000 begins with ffff"
        );
        assert_eq!((error.exit_code(), pages), (3, 10));
    }

    #[test]
    fn full_ids_need_no_lookup_and_ids_ignore_case() {
        let whole = "0123456789abcdef0123456789abcdef";
        for given in [whole, &whole.to_ascii_uppercase()] {
            let (found, pages) = among(10, given);
            assert_eq!((found.unwrap().as_str(), pages), (whole, 0));
        }
        assert_eq!(among(20, "0000000F").0.unwrap(), id(15));
    }

    #[test]
    fn invalid_ids_are_refused() {
        let long = format!("{}0", id(3));
        for given in ["xyz", "no-such-thing", "", "00000003é", &long] {
            let (found, pages) = among(10, given);
            let error = found.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "\"{given}\" is not a flare's id: that has 32 hexadecimal digits, of which the first 4 or more may be \
                     given; `burst flares` lists ids"
                )
            );
            assert_eq!((error.exit_code(), pages), (6, 0));
        }
    }

    #[test]
    fn short_prefixes_are_refused() {
        for given in ["0", "abc"] {
            let (found, pages) = among(10, given);
            let error = found.unwrap_err();
            assert!(error.to_string().contains("at least 4"), "{error}");
            assert_eq!((error.exit_code(), pages), (6, 0));
        }
    }

    #[test]
    fn ids_are_abbreviated() {
        assert_eq!(short(&id(7)), "000000070000");
        assert_eq!(short("f1"), "f1");
    }
}
