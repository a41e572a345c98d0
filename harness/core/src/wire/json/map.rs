//! The members of an object: one allocation, searched linearly while the object is small.

use super::{Text, Value};

/// The maximum number of members of a small object. The members of a small object keep the order of insertion
/// and are found by their [`NameTags`]. The members of a larger object are sorted by name, so a peer cannot
/// cause a quadratic cost.
const SMALL: usize = NameTags::ROOM;

/// The capacity of a new object. Envelopes and most actions have no more members than this.
const USUAL: usize = 6;

/// The members of an object. The order of members does not matter for equality.
#[derive(Clone, Default)]
pub struct Map {
    /// The members, sorted by name if their number exceeds [`SMALL`].
    members: Vec<(Text, Value)>,
    /// The tags of the members' names; empty if the number of members exceeds [`SMALL`].
    tags: NameTags,
}

impl Map {
    /// Creates an object without members.
    pub const fn new() -> Map {
        Map { members: Vec::new(), tags: NameTags(0) }
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of members for which the object has allocated memory.
    pub(super) fn capacity(&self) -> usize {
        self.members.capacity()
    }

    /// Returns whether the object has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the value of a member.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let place = self.place(name).ok()?;
        self.members.get(place).map(|(_, value)| value)
    }

    /// Returns the value of a member, mutably.
    #[inline]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name).ok()?;
        self.members.get_mut(place).map(|(_, value)| value)
    }

    /// Returns whether the object has a member with this name.
    #[inline]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Sets a member, and returns its previous value.
    pub fn insert(&mut self, name: impl Into<Text>, value: Value) -> Option<Value> {
        let name = name.into();
        match self.place(&name) {
            Ok(place) => self.members.get_mut(place).map(|(_, old)| std::mem::replace(old, value)),
            Err(place) => {
                self.add(place, name, value);
                None
            }
        }
    }

    /// Returns the entry of a member that may be absent.
    pub fn entry(&mut self, name: impl Into<Text>) -> MapEntry<'_> {
        MapEntry { map: self, name: name.into() }
    }

    /// Removes a member, and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let place = self.place(name).ok()?;
        let (_, value) = self.members.remove(place);
        match self.members.len() {
            ..SMALL => self.tags = self.tags.without(place),
            SMALL => self.tag(),
            _ => {}
        }
        Some(value)
    }

    /// Keeps only the members for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut Value) -> bool) {
        self.members.retain_mut(|(name, value)| keep(name, value));
        self.tag();
    }

    /// Returns the members with their names.
    #[inline]
    pub fn iter(&self) -> MapIter<'_> {
        self.members.iter().map(|(name, value)| (name, value))
    }

    /// Returns the members with their names, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        self.members.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// Returns the names of the members.
    pub fn keys(&self) -> impl Iterator<Item = &Text> {
        self.members.iter().map(|(name, _)| name)
    }

    /// Returns the values of the members.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.members.iter().map(|(_, value)| value)
    }

    /// Returns the values of the members, mutably.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.members.iter_mut().map(|(_, value)| value)
    }

    /// Returns the index of a member or, as an error, the index at which the member would be inserted. Most callers
    /// pass a literal, so the compiler computes the tag of the name.
    #[inline]
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.place_of(NameTags::of(name), name)
    }

    fn place_of(&self, tag: u64, name: &str) -> Result<usize, usize> {
        for place in self.tags.like(tag) {
            if self.members.get(place).is_some_and(|(known, _)| same(known, name)) {
                return Ok(place);
            }
        }
        if self.members.len() > SMALL {
            return self.members.binary_search_by(|(known, _)| known.as_str().cmp(name));
        }
        Err(self.members.len())
    }

    /// Adds an absent member at the index that `place` returned, and returns the final index of the member.
    fn add(&mut self, place: usize, name: Text, value: Value) -> usize {
        let place = match self.members.len() {
            ..SMALL => {
                self.push(name, value);
                return place;
            }
            SMALL => {
                self.sort();
                self.tags = NameTags::default();
                self.members.partition_point(|(known, _)| *known < name)
            }
            _ => place,
        };
        self.members.insert(place, (name, value));
        place
    }

    /// Appends a member.
    #[inline]
    fn push(&mut self, name: Text, value: Value) {
        if self.members.capacity() == 0 {
            self.members.reserve(USUAL);
        }
        self.tags = match self.members.len() {
            ..SMALL => self.tags.with(&name, self.members.len()),
            _ => NameTags::default(),
        };
        self.members.push((name, value));
    }

    fn sort(&mut self) {
        self.members.sort_by(|(left, _), (right, _)| left.cmp(right));
    }

    /// Computes the tags of all members' names again.
    fn tag(&mut self) {
        self.tags = NameTags::default();
        if self.members.len() <= SMALL {
            let names = self.members.iter().enumerate();
            self.tags = names.fold(self.tags, |tags, (place, (name, _))| tags.with(name, place));
        }
    }
}

/// Returns whether two names are equal. Names of the protocol are short, and are compared without a function
/// call.
#[inline]
fn same(known: &str, name: &str) -> bool {
    fn ends<const N: usize>(text: &[u8]) -> Option<([u8; N], [u8; N])> {
        Some((*text.first_chunk()?, *text.last_chunk()?))
    }
    let (known, name) = (known.as_bytes(), name.as_bytes());
    if known.len() != name.len() {
        return false;
    }
    match name.len() {
        4..8 => ends::<4>(known) == ends(name),
        8..=16 => ends::<8>(known) == ends(name),
        _ => known == name,
    }
}

/// A tag (a hash) of four bits for the name of each member, in the order of the members. If no tag equals the tag of a
/// name, the name is absent. One operation compares all tags, so usually only the right name is compared as text.
#[derive(Clone, Copy, Default)]
struct NameTags(u64);

impl NameTags {
    const BITS: usize = 4;
    /// The maximum number of tags that fit into a [`NameTags`].
    const ROOM: usize = 16;
    /// A mask with the lowest bit of each tag.
    const EACH: u64 = 0x1111_1111_1111_1111;

    /// Returns the tag of a name. The tag is never 0, because 0 marks an unused place. The tag depends on the
    /// length, the first and the last letter, in which names usually differ.
    #[inline]
    fn of(name: &str) -> u64 {
        let (Some(first), Some(last)) = (name.as_bytes().first(), name.as_bytes().last()) else {
            return 1;
        };
        let mixed = u64::from(*first) + 5 * u64::from(*last) + 3 * name.len() as u64;
        mixed % 15 + 1
    }

    /// Adds the tag of a name at an unused place.
    #[inline]
    fn with(self, name: &str, place: usize) -> NameTags {
        NameTags(self.0 | NameTags::of(name) << (NameTags::BITS * place))
    }

    /// Removes the tag at a place, and moves the later tags down by one place.
    fn without(self, place: usize) -> NameTags {
        let below = (1 << (NameTags::BITS * place)) - 1;
        NameTags(self.0 & below | self.0 >> NameTags::BITS & !below)
    }

    /// Returns the places whose tag is equal to this tag.
    #[inline]
    fn like(self, tag: u64) -> NameMask {
        let mut differs = self.0 ^ (tag * NameTags::EACH);
        differs |= differs >> 2;
        differs |= differs >> 1;
        NameMask(!differs & NameTags::EACH)
    }
}

/// A set of places in a [`NameTags`], with one bit for each place.
struct NameMask(u64);

impl Iterator for NameMask {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bits = self.0;
        self.0 = bits & bits.wrapping_sub(1);
        (bits != 0).then(|| bits.trailing_zeros() as usize / NameTags::BITS)
    }
}

/// A builder for a map with many members.
pub(super) struct MapBuilder {
    map: Map,
    /// A set of bits that the names added so far have set; several names may have the same bit. If the bit of a name is
    /// not set, the name is new, and no search is needed.
    known: u64,
}

impl MapBuilder {
    /// Creates a builder of a map with this number of members. If `members` is above two, the map may have more
    /// members.
    pub(super) fn of_about(members: usize) -> MapBuilder {
        let room = if members > 2 { USUAL } else { members };
        let map = Map { members: Vec::with_capacity(room), tags: NameTags(0) };
        MapBuilder { map, known: 0 }
    }

    pub(super) fn new(map: Map) -> MapBuilder {
        let known = map.keys().fold(0, |known, name| known | bit(name));
        MapBuilder { map, known }
    }

    #[inline]
    pub(super) fn push(&mut self, name: Text, value: Value) {
        let bit = bit(&name);
        if self.map.len() < SMALL && self.known & bit != 0 {
            self.map.insert(name, value);
        } else {
            self.map.push(name, value);
        }
        self.known |= bit;
    }

    /// Sorts and deduplicates a large map once at the end, because sorted insertion would have a quadratic
    /// cost.
    pub(super) fn finish(self) -> Map {
        let mut map = self.map;
        if map.members.len() > SMALL {
            // If several members have the same name, the last one counts. The reversal moves the last member to
            // the front, and the stable sort keeps it before the others.
            map.members.reverse();
            map.sort();
            map.members.dedup_by(|later, earlier| later.0 == earlier.0);
            map.tag();
        }
        map
    }
}

#[inline]
fn bit(name: &str) -> u64 {
    let first = name.as_bytes().first().copied().unwrap_or_default();
    1 << ((usize::from(first) + 7 * name.len()) % 64)
}

impl<N: Into<Text>> Extend<(N, Value)> for Map {
    fn extend<I: IntoIterator<Item = (N, Value)>>(&mut self, members: I) {
        let mut building = MapBuilder::new(std::mem::take(self));
        for (name, value) in members {
            building.push(name.into(), value);
        }
        *self = building.finish();
    }
}

impl<N: Into<Text>> FromIterator<(N, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(members: I) -> Map {
        let mut map = Map::new();
        map.extend(members);
        map
    }
}

impl<N: Into<Text>, const C: usize> From<[(N, Value); C]> for Map {
    fn from(members: [(N, Value); C]) -> Map {
        members.into_iter().collect()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        // Equal objects usually have the same order, so no lookup is needed.
        let same = |(place, (name, value)): (usize, &(Text, Value))| match other.members.get(place)
        {
            Some((known, theirs)) if known == name => value == theirs,
            _ => other.get(name) == Some(value),
        };
        self.len() == other.len() && self.members.iter().enumerate().all(same)
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The entry of a member that may be absent.
pub struct MapEntry<'a> {
    map: &'a mut Map,
    name: Text,
}

impl<'a> MapEntry<'a> {
    /// Returns the value of the member. If the member is absent, creates its value with `make`.
    pub fn or_insert_with(self, make: impl FnOnce() -> Value) -> &'a mut Value {
        let MapEntry { map, name } = self;
        let place = match map.place(&name) {
            Ok(place) => place,
            Err(place) => map.add(place, name, make()),
        };
        &mut map.members[place].1
    }

    /// Returns the value of the member. If the member is absent, sets it to `value`.
    pub fn or_insert(self, value: Value) -> &'a mut Value {
        self.or_insert_with(|| value)
    }
}

/// An iterator over the members with their names.
pub type MapIter<'a> = std::iter::Map<
    std::slice::Iter<'a, (Text, Value)>,
    fn(&'a (Text, Value)) -> (&'a Text, &'a Value),
>;

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = std::vec::IntoIter<(Text, Value)>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Text, &'a Value);
    type IntoIter = MapIter<'a>;
    #[inline]
    fn into_iter(self) -> MapIter<'a> {
        self.iter()
    }
}

impl std::ops::Index<&str> for Map {
    type Output = Value;
    /// Returns the member; null if it is absent.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}
