//! Short values for another pack, sent together.
//!
//! In each pack one member is the carrier to each other pack: it collects its pack's values for
//! that pack and sends them as one message, from which every receiver gets its own value. Long
//! values are sent on their own: sending one takes longer than a message costs, and copying it as
//! well would take longer still. Only the sender decides; receivers accept either form.

use super::Call;
use crate::address::{Destination, Source};
use crate::error::Error;
use crate::group::PackMembers;
use crate::payload::{self, Encoded, Payload};
use crate::rank::Rank;
use crate::remote::{BUNDLE_ENTRY, Bundle, Expectation};

/// The longest value that is bundled, in encoded bytes. Over `direct`, longer ones are faster on
/// their own; backends with a server would gain a little with up to twice as much.
const SHORT: usize = 8 << 10;
/// The longest bundle, in bytes: if there are many values, only shorter ones are bundled.
const LONGEST: usize = 8 << 20;

/// A value that is sent on its own.
pub(super) enum Single<T> {
    /// A value whose memory is its encoding.
    Value(T),
    /// A value that was encoded to find out its length.
    Encoded(Encoded<'static>),
}

/// A member's values for other packs, sorted by how they are sent.
pub(super) struct Sorted<T> {
    /// The values sent on their own, by rank; `long_bytes` is their total length.
    pub(super) singles: Vec<Option<Single<T>>>,
    pub(super) long_bytes: usize,
    /// The other packs that this member carries to, each with its own values for them.
    carried: Vec<(usize, Option<Bundle>)>,
}

/// Returns the member of a pack that carries to another one, and is named as the receiver of
/// bundles from there.
fn carrier(of: &PackMembers, other: usize) -> Rank {
    of.ranks[other % of.ranks.len()]
}

impl Call<'_> {
    /// Returns the indices of the other packs, starting after this one, so that packs do not all
    /// start with the same one.
    pub(super) fn other_packs(&self) -> impl Iterator<Item = usize> + use<> {
        let (mine, count) = (self.group.own_pack_index(), self.group.packs().len());
        (1..count).map(move |step| (mine + step) % count)
    }

    /// Sorts the values for members of other packs, and gives the short ones to their carriers.
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

    /// Puts a value into a bundle if it is short; otherwise returns it with its length.
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

    /// Returns the length of the longest value to bundle if a bundle may hold this many; `None` if
    /// there are too many.
    pub(super) fn short(&self, values: usize) -> Result<Option<usize>, Error> {
        let longest = LONGEST.min(self.shared.remote()?.max_message());
        let share = (longest / values).checked_sub(2 * BUNDLE_ENTRY);
        Ok(share.map(|share| share.min(SHORT)))
    }

    /// Returns the bundles that the members of this pack have given to this one, and its own.
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

    /// Collects and sends the bundles that this member carries.
    pub(super) fn carry<T>(&mut self, sorted: &mut Sorted<T>) -> Result<(), Error> {
        let group = self.group;
        let (mine, packs) = (group.own_pack_index(), group.packs());
        for (pack, own) in std::mem::take(&mut sorted.carried) {
            let bundles = self.collect(own)?;
            self.send_bundles(carrier(&packs[pack], mine), bundles)?;
        }
        Ok(())
    }

    /// Announces that this pack will take the bundles of all others, so that none of their carriers
    /// has to wait for room here while one of this pack's carriers waits for room there.
    pub(super) fn expect_bundles(&self) -> Result<Vec<Expectation>, Error> {
        let (mine, packs) = (self.group.own_pack_index(), self.group.packs());
        self.other_packs()
            .map(|pack| self.expect(carrier(&packs[mine], pack), carrier(&packs[pack], mine)))
            .filter_map(Result::transpose)
            .collect()
    }

    /// Sends a value on its own.
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
