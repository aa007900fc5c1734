//! Short values for another pack, sent together.
//!
//! Of each pack one member carries to each other one: it collects what its pack has for that one
//! and sends it as one message, from which every receiver is given its own. What is long goes by
//! itself: sending it takes longer than a message costs, and would take still longer with a copy.
//! The sender alone decides; who receives takes what comes, either way.

use super::Call;
use crate::address::{Destination, Source};
use crate::error::Error;
use crate::group::PackMembers;
use crate::payload::{self, Encoded, Payload};
use crate::rank::Rank;
use crate::remote::{BUNDLE_ENTRY, Bundle, Expectation};

/// Longest value that is bundled, in bytes as it is sent. Over `direct` longer ones take less time
/// by themselves; backends with a server would gain a little up to twice as much.
const SHORT: usize = 8 << 10;
/// Longest bundle: of many values only shorter ones are bundled.
const LONGEST: usize = 8 << 20;

/// A value that goes by itself.
pub(super) enum Single<T> {
    /// Its memory is its encoding.
    Value(T),
    /// It was encoded to learn how long it is.
    Encoded(Encoded<'static>),
}

/// What a member has for other packs, sorted by how it is sent.
pub(super) struct Sorted<T> {
    /// By rank; those of `long_bytes` bytes together.
    pub(super) singles: Vec<Option<Single<T>>>,
    pub(super) long_bytes: usize,
    /// The other packs this member carries to, and its own values for them.
    carried: Vec<(usize, Option<Bundle>)>,
}

/// The member of a pack that carries to another one, and is named as receiver of what comes.
fn carrier(of: &PackMembers, other: usize) -> Rank {
    of.ranks[other % of.ranks.len()]
}

impl Call<'_> {
    /// Beginning after this one, so that not all begin with the same.
    pub(super) fn other_packs(&self) -> impl Iterator<Item = usize> + use<> {
        let (mine, count) = (self.group.own_pack_index(), self.group.packs().len());
        (1..count).map(move |step| (mine + step) % count)
    }

    /// Sorts the values for members of other packs, gives the short ones to who carries them.
    /// Never waits.
    pub(super) fn sort<T: Payload>(
        &mut self,
        outgoing: &mut [Option<T>],
    ) -> Result<Sorted<T>, Error> {
        let group = self.group;
        let (mine, packs) = (group.own_pack_index(), group.packs());
        let mut singles: Vec<Option<Single<T>>> = outgoing.iter().map(|_| None).collect();
        let (mut carried, mut long_bytes) = (Vec::new(), 0);
        for pack in self.other_packs() {
            let (from, to) = (&packs[mine].ranks, &packs[pack].ranks);
            let short = self.short(from.len() * to.len())?;
            let mut bundle = None;
            for &rank in to {
                let Some(value) = outgoing[rank.index()].take() else {
                    continue;
                };
                let destination = Destination::Worker(group.worker(rank));
                if let Some((single, bytes)) =
                    self.bundle(&mut bundle, short, destination, value)?
                {
                    singles[rank.index()] = Some(single);
                    long_bytes += bytes;
                }
            }
            match carrier(&packs[mine], pack) {
                carrier if carrier == group.rank => carried.push((pack, bundle)),
                carrier => self.give_local(carrier, bundle)?,
            }
        }
        Ok(Sorted {
            singles,
            long_bytes,
            carried,
        })
    }

    /// Puts a value into a bundle if it is short; gives it and its length back if not.
    pub(super) fn bundle<T: Payload>(
        &self,
        bundle: &mut Option<Bundle>,
        short: Option<usize>,
        destination: Destination,
        value: T,
    ) -> Result<Option<(Single<T>, usize)>, Error> {
        let encoded = payload::encode(self.operation(), &value)?;
        let bytes = encoded.body.len();
        if short.is_some_and(|short| bytes <= short) {
            let Source { worker, .. } = self.source();
            let bundle = bundle.get_or_insert_with(|| Bundle::of(&encoded));
            bundle.push(worker, destination, &encoded.body);
            return Ok(None);
        }
        let single = match encoded.into_owned() {
            Some(encoded) => Single::Encoded(encoded),
            None => Single::Value(value),
        };
        Ok(Some((single, bytes)))
    }

    /// The longest value to bundle when a bundle may hold this many; none when they are too many.
    pub(super) fn short(&self, values: usize) -> Result<Option<usize>, Error> {
        let longest = LONGEST.min(self.shared.remote()?.max_message());
        let share = (longest / values).checked_sub(2 * BUNDLE_ENTRY);
        Ok(share.map(|share| share.min(SHORT)))
    }

    /// What the members of this pack have given to this one, and its own.
    pub(super) fn collect(&mut self, own: Option<Bundle>) -> Result<Vec<Bundle>, Error> {
        let mut bundles: Vec<Bundle> = own.into_iter().collect();
        for &rank in &self.group.own_pack().ranks {
            if rank != self.group.rank {
                bundles.extend(self.take_local::<Option<Bundle>>(rank)?);
            }
        }
        Ok(bundles)
    }

    /// Sends bundles as one message, if there are any.
    pub(super) fn send_bundles(&mut self, to: Rank, bundles: Vec<Bundle>) -> Result<(), Error> {
        match Bundle::join(bundles) {
            Some(message) => self.send(to, &message),
            None => Ok(()),
        }
    }

    /// Collects what this member carries, and sends it.
    pub(super) fn carry<T>(&mut self, sorted: &mut Sorted<T>) -> Result<(), Error> {
        let group = self.group;
        let (mine, packs) = (group.own_pack_index(), group.packs());
        for (pack, own) in std::mem::take(&mut sorted.carried) {
            let bundles = self.collect(own)?;
            self.send_bundles(carrier(&packs[pack], mine), bundles)?;
        }
        Ok(())
    }

    /// Announces that this pack takes the bundles of all others, so that none of their carriers
    /// has to wait for room here while one of this pack's waits for room there.
    pub(super) fn expect_bundles(&self) -> Result<Vec<Expectation>, Error> {
        let (mine, packs) = (self.group.own_pack_index(), self.group.packs());
        self.other_packs()
            .map(|pack| self.expect(carrier(&packs[mine], pack), carrier(&packs[pack], mine)))
            .filter_map(Result::transpose)
            .collect()
    }

    /// Sends a value by itself.
    pub(super) fn give_single<T: Payload>(
        &mut self,
        to: Rank,
        single: Single<T>,
    ) -> Result<(), Error> {
        match single {
            Single::Value(value) => self.give(to, value),
            Single::Encoded(encoded) => self.send(to, &encoded),
        }
    }
}
