//! The part that a key belongs to, and its positions in the part's hash table.

/// Mixes all bits of a key into all bits of the hash (the finaliser of SplitMix64).
#[inline]
pub fn hash(key: i64) -> u64 {
    let mut bits = key as u64;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Returns which of `parts` a hash belongs to, by its upper half, so that the lower half varies
/// within a part.
#[inline]
pub fn part(hash: u64, parts: u32) -> u32 {
    (((hash >> 32) * u64::from(parts)) >> 32) as u32
}

/// A hash table from keys to the positions at which they were added, for one part after another.
#[derive(Default)]
pub struct HashIndex {
    /// One more than the last position added at each hash; 0 if there is none.
    heads: Vec<u32>,
    entries: Vec<Entry>,
}

struct Entry {
    key: i64,
    /// One more than the entry added before this one at the same hash; 0 if there is none.
    before: u32,
}

impl HashIndex {
    /// Empties the table and makes room for `keys` keys.
    pub fn reset(&mut self, keys: usize) {
        self.heads.clear();
        self.heads.resize(keys.next_power_of_two(), 0);
        self.entries.clear();
        self.entries.reserve(keys);
    }

    /// The number of keys added.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn head(&self, key: i64) -> usize {
        hash(key) as usize & (self.heads.len() - 1)
    }

    /// Adds a key, even if it is already present; its position is the number of keys before it.
    #[inline]
    pub fn add(&mut self, key: i64) {
        let head = self.head(key);
        let before = self.heads[head];
        self.entries.push(Entry { key, before });
        self.heads[head] = self.entries.len() as u32;
    }

    /// Returns all positions of a key, the last one first.
    #[inline]
    pub fn of(&self, key: i64) -> impl Iterator<Item = usize> {
        let mut next = self.heads[self.head(key)];
        std::iter::from_fn(move || {
            while next != 0 {
                let position = next as usize - 1;
                let entry = &self.entries[position];
                next = entry.before;
                if entry.key == key {
                    return Some(position);
                }
            }
            None
        })
    }
}
