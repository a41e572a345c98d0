//! Members by name: one piece of memory, looked through from the front while it is small.

use super::{Text, Value};

/// Up to this many members stand in the order they came in and are found by their [`NameTags`]; more are sorted by name, so
/// that a peer cannot make us pay for the length.
const SMALL: usize = NameTags::ROOM;

/// Room for this many members is made at once: envelopes and most actions have no more.
const USUAL: usize = 6;

/// The members of an object. Two are equal when their members are, whatever their order.
#[derive(Clone, Default)]
pub struct Map {
    /// Sorted by name where there are more than [`SMALL`].
    members: Vec<(Text, Value)>,
    /// Those of the members, none where there are more than [`SMALL`].
    tags: NameTags,
}

impl Map {
    /// No members.
    pub const fn new() -> Map {
        Map { members: Vec::new(), tags: NameTags(0) }
    }

    /// How many members there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of a member.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let place = self.place(name).ok()?;
        self.members.get(place).map(|(_, value)| value)
    }

    /// The value of a member, to change it.
    #[inline]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name).ok()?;
        self.members.get_mut(place).map(|(_, value)| value)
    }

    /// Whether there is a member of this name.
    #[inline]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Sets a member; returns the value it had.
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

    /// A member that may be absent.
    pub fn entry(&mut self, name: impl Into<Text>) -> MapEntry<'_> {
        MapEntry { map: self, name: name.into() }
    }

    /// Takes a member out.
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

    /// Keeps the members of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut Value) -> bool) {
        self.members.retain_mut(|(name, value)| keep(name, value));
        self.tag();
    }

    /// The members with their names.
    #[inline]
    pub fn iter(&self) -> MapIter<'_> {
        self.members.iter().map(|(name, value)| (name, value))
    }

    /// The members with their names, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        self.members.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &Text> {
        self.members.iter().map(|(name, _)| name)
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.members.iter().map(|(_, value)| value)
    }

    /// The values, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.members.iter_mut().map(|(_, value)| value)
    }

    /// Where a member is, or where it would go. Most names are written in the code, so that their tags are known there.
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

    /// Adds a member that is absent, at the place where it goes; returns where it is.
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

    /// Puts a member last.
    #[inline]
    fn push(&mut self, name: Text, value: Value) {
        if self.members.is_empty() {
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

    /// Gives all members their tags anew.
    fn tag(&mut self) {
        self.tags = NameTags::default();
        if self.members.len() <= SMALL {
            let names = self.members.iter().enumerate();
            self.tags = names.fold(self.tags, |tags, (place, (name, _))| tags.with(name, place));
        }
    }
}

/// Whether two names are the same. Those that the protocol has are short, and are compared without a call.
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

/// Four bits of each name, in the order of the names: where those of a name that is looked for are not, it is not either.
/// All are compared at once, and mostly no other text than the right one is looked at.
#[derive(Clone, Copy, Default)]
struct NameTags(u64);

impl NameTags {
    const BITS: usize = 4;
    /// How many tags there is room for.
    const ROOM: usize = 16;
    /// The lowest bit of each.
    const EACH: u64 = 0x1111_1111_1111_1111;

    /// Never 0, which is what stands where there is no name. Names of one length differ in their first or their last
    /// letter more often than not.
    #[inline]
    fn of(name: &str) -> u64 {
        let (Some(first), Some(last)) = (name.as_bytes().first(), name.as_bytes().last()) else {
            return 1;
        };
        let mixed = u64::from(*first) + 5 * u64::from(*last) + 3 * name.len() as u64;
        mixed % 15 + 1
    }

    /// With that of a name at a place that had none.
    #[inline]
    fn with(self, name: &str, place: usize) -> NameTags {
        NameTags(self.0 | NameTags::of(name) << (NameTags::BITS * place))
    }

    /// Without the one at a place, which those behind it take.
    fn without(self, place: usize) -> NameTags {
        let below = (1 << (NameTags::BITS * place)) - 1;
        NameTags(self.0 & below | self.0 >> NameTags::BITS & !below)
    }

    /// The places of those that are like one.
    #[inline]
    fn like(self, tag: u64) -> NameMask {
        let mut differs = self.0 ^ (tag * NameTags::EACH);
        differs |= differs >> 2;
        differs |= differs >> 1;
        NameMask(!differs & NameTags::EACH)
    }
}

/// Places, a bit for each.
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

/// A map that many members are put into.
pub(super) struct MapBuilder {
    map: Map,
    /// A bit for each name so far, of which many share one: a name whose bit is not set is new, and
    /// need not be looked for.
    known: u64,
}

impl MapBuilder {
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

    /// Sorting comes last, since sorting each in would cost its square.
    pub(super) fn finish(self) -> Map {
        let mut map = self.map;
        if map.members.len() > SMALL {
            // Of two of a name the later counts: it comes first in the reverse, and stays there.
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
        // Most equal objects have the same order too.
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

/// A member that may be absent.
pub struct MapEntry<'a> {
    map: &'a mut Map,
    name: Text,
}

impl<'a> MapEntry<'a> {
    /// The value of the member, which is made first where it is absent.
    pub fn or_insert_with(self, make: impl FnOnce() -> Value) -> &'a mut Value {
        let MapEntry { map, name } = self;
        let place = match map.place(&name) {
            Ok(place) => place,
            Err(place) => map.add(place, name, make()),
        };
        &mut map.members[place].1
    }

    /// The value of the member, which is set to this one where it is absent.
    pub fn or_insert(self, value: Value) -> &'a mut Value {
        self.or_insert_with(|| value)
    }
}

/// The members with their names.
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
    /// The member, or null.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}
